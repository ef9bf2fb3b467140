"""`pod_security_violations(pod_template)`: the Pod Security Standard "restricted", from the published list of fields.

It holds all of "baseline" too. Windows pods are out of scope: a pod that says it is one is judged as a Linux pod.
Checked against the standard's own examples (k8s.io/pod-security-admission) in test_pod_security.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

Object = dict[str, Any]

_VOLUMES = {"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"}
_SECCOMP = ("RuntimeDefault", "Localhost")
_APPARMOR = ("RuntimeDefault", "Localhost")
_APPARMOR_ANNOTATION = "container.apparmor.security.beta.kubernetes.io/"
_SELINUX = ("", "container_t", "container_init_t", "container_kvm_t", "container_engine_t")
_SYSCTLS = {
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ping_group_range",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_wmem",
}


def pod_security_violations(template: Object) -> list[str]:
    """Return what keeps a pod out of a namespace that enforces "restricted", a line each.

    Args:
        template: {metadata, spec} of a pod, as in `spec.template` of a Deployment or Job.
    """
    spec = template.get("spec") or {}
    found = [*_pod(spec), *_annotations(template)]
    for where, container in containers(spec):
        for check in _CHECKS:
            found += [f"{where}.{problem}" for problem in check(container, spec)]
    return found


def containers(spec: Object) -> Iterator[tuple[str, Object]]:
    """Yield (path, container) of every container in a pod, init and ephemeral ones included."""
    for group in ("initContainers", "containers", "ephemeralContainers"):
        for position, container in enumerate(spec.get(group) or []):
            yield f"spec.{group}[{position}]", container


def _pod(spec: Object) -> Iterator[str]:
    """What is said once for the whole pod."""
    for field in ("hostNetwork", "hostPID", "hostIPC"):
        if spec.get(field):
            yield f"spec.{field}: must not be true"
    for position, volume in enumerate(spec.get("volumes") or []):
        for kind in sorted(volume.keys() - {"name"} - _VOLUMES):
            yield f"spec.volumes[{position}].{kind}: this kind of volume is not allowed"
    context = _context(spec)
    for sysctl in context.get("sysctls") or []:
        if sysctl.get("name") not in _SYSCTLS:
            yield f"spec.securityContext.sysctls: {sysctl.get('name')} is not a safe one"
    if context.get("runAsUser") == 0:
        yield "spec.securityContext.runAsUser: must not be 0"
    yield from (f"spec.{problem}" for problem in _shared(context))


def _shared(context: Object) -> Iterator[str]:
    """Fields that a pod's security context and a container's have in common and that are judged alike."""
    seccomp = (context.get("seccompProfile") or {}).get("type")
    if seccomp is not None and seccomp not in _SECCOMP:
        yield f"securityContext.seccompProfile.type: {seccomp} is none of {', '.join(_SECCOMP)}"
    apparmor = (context.get("appArmorProfile") or {}).get("type")
    if apparmor is not None and apparmor not in _APPARMOR:
        yield f"securityContext.appArmorProfile.type: {apparmor} is none of {', '.join(_APPARMOR)}"
    linux = context.get("seLinuxOptions") or {}
    if linux.get("type", "") not in _SELINUX:
        yield f"securityContext.seLinuxOptions.type: {linux['type']} is not allowed"
    for field in ("user", "role"):
        if linux.get(field):
            yield f"securityContext.seLinuxOptions.{field}: must not be set"
    if (context.get("windowsOptions") or {}).get("hostProcess"):
        yield "securityContext.windowsOptions.hostProcess: must not be true"


def _privileges(container: Object, _: Object) -> Iterator[str]:
    context = _context(container)
    if context.get("privileged"):
        yield "securityContext.privileged: must not be true"
    if context.get("allowPrivilegeEscalation") is not False:
        yield "securityContext.allowPrivilegeEscalation: must be false"
    if context.get("procMount", "Default") != "Default":
        yield "securityContext.procMount: must be Default"
    capabilities = context.get("capabilities") or {}
    if "ALL" not in (capabilities.get("drop") or []):
        yield "securityContext.capabilities.drop: must hold ALL"
    for extra in capabilities.get("add") or []:
        if extra != "NET_BIND_SERVICE":
            yield f"securityContext.capabilities.add: {extra} is not allowed"


def _user(container: Object, spec: Object) -> Iterator[str]:
    """A container may leave to the pod what the pod says, but not say otherwise."""
    own, pod = _context(container), _context(spec)
    if own.get("runAsNonRoot", pod.get("runAsNonRoot")) is not True:
        yield "securityContext.runAsNonRoot: must be true, here or for the pod"
    if own.get("runAsUser") == 0:
        yield "securityContext.runAsUser: must not be 0"
    if "seccompProfile" not in own and "seccompProfile" not in pod:
        yield "securityContext.seccompProfile.type: must be set, here or for the pod"
    yield from _shared(own)


def _host(container: Object, _: Object) -> Iterator[str]:
    """Ports of the node, and probes or hooks that could reach another host."""
    for port in container.get("ports") or []:
        if port.get("hostPort"):
            yield f"ports: hostPort {port['hostPort']} is not allowed"
    hooks = container.get("lifecycle") or {}
    actions = {f"lifecycle.{name}": hooks.get(name) for name in ("postStart", "preStop")}
    actions |= {name: container.get(name) for name in ("livenessProbe", "readinessProbe", "startupProbe")}
    for name, action in actions.items():
        for kind in ("httpGet", "tcpSocket"):
            if ((action or {}).get(kind) or {}).get("host"):
                yield f"{name}.{kind}.host: must not be set"


_CHECKS: tuple[Callable[[Object, Object], Iterator[str]], ...] = (_privileges, _user, _host)


def _annotations(template: Object) -> Iterator[str]:
    """AppArmor's older form."""
    for key, value in ((template.get("metadata") or {}).get("annotations") or {}).items():
        if key.startswith(_APPARMOR_ANNOTATION) and value != "runtime/default" and not value.startswith("localhost/"):
            yield f"metadata.annotations.{key}: {value} is not allowed"


def _context(owner: Object) -> Object:
    return owner.get("securityContext") or {}
