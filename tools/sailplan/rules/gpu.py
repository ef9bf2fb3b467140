"""SP2xx: GPUs. How many an environment has, and whether what runs on them fits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sailplan.capacity import Demand, demand
from sailplan.fit import Fit, fit, gib, gpu_classes, split
from sailplan.model import Catalog
from sailplan.rules.registry import Problem, Problems, catalog_rule, component_rule, fleet_rule
from sailplan.rules.view import Placed, Values, View

_UNITS = {"Mi": 1 / 1024, "Gi": 1.0, "Ti": 1024.0}


@fleet_rule("SP201", "GPU budget too small")
def over_budget(view: View) -> Problems:
    """Replicas that always run hold their GPUs for ever; beyond the GPUs there are, pods stay Pending for good."""
    for environment, budget, needs in _budgets(view):
        least = sum(need.least for _, need in needs)
        if least > budget:
            message = f"{environment} has {budget} GPUs, and its applications need {least} at minimum replicas"
            yield _budget(view, environment, message, least, budget, [(one, need.least) for one, need in needs])


@fleet_rule("SP202", "GPU budget may run out", "warning")
def may_run_out(view: View) -> Problems:
    """At full load replicas beyond the budget stay Pending: the scaler asks for them, and there are no GPUs."""
    for environment, budget, needs in _budgets(view):
        least, most = (sum(getattr(need, which) for _, need in needs) for which in ("least", "most"))
        if least <= budget < most:
            message = (
                f"{environment} has {budget} GPUs; its applications need {least} at minimum replicas "
                f"and {most} at maximum replicas"
            )
            yield _budget(view, environment, message, most, budget, [(one, need.most) for one, need in needs])


@component_rule("SP214", "no GPU asked for", engine=True)
def no_gpu(view: View, placed: Placed) -> Problems:
    """Without the gpu trait a pod asks for no GPU: the engine does not start, and no budget counts it."""
    if "gpu" not in placed.component.traits:
        message = f"{placed.component.name}: neither the preset {placed.component.model} nor a capability attaches gpu"
        yield Problem(placed.here("model"), placed.field("traits"), message, fix="add `gpu: {}` to the preset's traits")


@component_rule("SP203", "does not fit the GPU", engine=True)
def does_not_fit(view: View, placed: Placed) -> Problems:
    """The engine does not start unless weights, its own needs and one full-length sequence fit memory x utilization."""
    for environments, found in _fits(view, placed):
        if found.sequences < 1:
            need = found.weights + found.overhead + found.sequence
            message = (
                f"{placed.component.name} does not fit {placed.component.profile} in {', '.join(environments)}: "
                f"{gib(found.weights)} of weights, {gib(found.overhead)} for the engine and {gib(found.sequence)} "
                f"of KV cache for one sequence of {found.tokens} tokens"
            )
            fix = "lower contextWindow, quantize, or take more or larger GPUs"
            field = placed.field("properties", "model", "contextWindow")
            yield Problem(_window(placed, environments[0]), field, message, gib(need), gib(found.memory), fix=fix)


@component_rule("SP204", "how many sequences fit", "note", engine=True)
def sequences(view: View, placed: Placed) -> Problems:
    """What is left for KV cache: how many sequences of full length run at once before the engine makes some wait."""
    for environments, found in _fits(view, placed):
        if found.sequences >= 1:
            message = (
                f"{found.sequences} sequences of {found.tokens} tokens fit at once ({gib(found.room)} of KV cache, "
                f"{gib(found.sequence)} each) on {placed.component.profile} in {', '.join(environments)}"
            )
            yield Problem(_window(placed, environments[0]), placed.field(), message)


@component_rule("SP205", "tensor parallel not allowed by the model", engine=True)
def tensor_parallel(view: View, placed: Placed) -> Problems:
    """A layer splits over as many GPUs as divide its heads; the preset lists the numbers."""
    model = view.catalog.models[placed.component.model]
    allowed = model.spec["architecture"]["tensorParallel"]
    for environment, gpu in _gpus(placed):
        tensor, pipeline = split(gpu)
        if gpu.get("count", 1) == tensor * pipeline and tensor not in allowed:
            message = f"{placed.component.name} would split {model.name} over {tensor} GPUs (tensor parallel)"
            choices = ", ".join(str(one * pipeline) for one in allowed)
            yield _count(placed, environment, message, str(gpu.get("count", 1)), f"{choices} GPUs")


@catalog_rule("SP206", "tensor parallel does not divide the heads")
def heads(catalog: Catalog) -> Problems:
    """Every allowed number of GPUs divides the model's attention heads and key and value heads."""
    for model in catalog.models.values():
        facts = model.spec["architecture"]
        for place, tensor in enumerate(facts["tensorParallel"]):
            if facts["attentionHeads"] % tensor or facts["keyValueHeads"] % tensor:
                path = ("spec", "architecture", "tensorParallel", place)
                message = (
                    f"{tensor} does not divide {facts['attentionHeads']} attention heads "
                    f"and {facts['keyValueHeads']} key and value heads"
                )
                field = "spec.architecture.tensorParallel"
                yield Problem(model.at(*path), field, message, str(tensor), fix="leave it out")


@component_rule("SP207", "GPUs are not tensor x pipeline parallel", engine=True)
def unequal_stages(view: View, placed: Placed) -> Problems:
    """A pipeline has stages of equal size, so the GPUs of a replica are a multiple of its stages."""
    for environment, gpu in _gpus(placed):
        count, pipeline = gpu.get("count", 1), gpu.get("pipelineParallel", 1)
        if count % pipeline:
            message = f"{placed.component.name}: {count} GPUs cannot be shared equally by {pipeline} pipeline stages"
            yield _count(placed, environment, message, str(count), f"a multiple of {pipeline}")


@component_rule("SP208", "more GPUs than a node has", engine=True)
def beyond_a_node(view: View, placed: Placed) -> Problems:
    """A pod runs on one node; with more GPUs than any node has it stays Pending."""
    profile = placed.component.profile
    most = gpu_classes(view.catalog).get(profile, {}).get("maxPerNode")
    for environment, gpu in _gpus(placed):
        count = gpu.get("count", 1)
        if most is not None and count > most:
            message = f"{placed.component.name} asks for {count} GPUs in one pod; a node of {profile} has {most}"
            yield _count(placed, environment, message, str(count), f"at most {most}")


@component_rule("SP209", "more GPU memory than the class has", engine=True)
def memory(view: View, placed: Placed) -> Problems:
    """With minVRAM above the memory of its own class, no node will ever do."""
    has = gpu_classes(view.catalog).get(placed.component.profile, {}).get("memoryGiB")
    for environment, gpu in _gpus(placed):
        wanted = gpu.get("minVRAM")
        if wanted and has is not None and quantity_gib(wanted) > has:
            message = (
                f"{placed.component.name} wants {wanted} of GPU memory; {placed.component.profile} has {has:g} GiB"
            )
            at = placed.at(environment, "traits", "gpu", "minVRAM")
            yield Problem(at, placed.field("traits", "gpu", "minVRAM"), message, wanted, f"at most {has:g}Gi")


@component_rule("SP210", "fp8 without hardware for it", engine=True)
def no_fp8(view: View, placed: Placed) -> Problems:
    """GPUs that cannot compute 8-bit floats run fp8 weights slowly or not at all."""
    facts = gpu_classes(view.catalog).get(placed.component.profile)
    for environment, values in placed.environments:
        if facts and not facts["fp8"] and _quantization(values) == "fp8":
            message = f"{placed.component.name} is quantized to fp8, which {placed.component.profile} does not compute"
            yield _quantized(placed, environment, message, "fp8", "another quantization, or another GPU class")


@component_rule("SP211", "size of the weights unknown", engine=True)
def unknown_size(view: View, placed: Placed) -> Problems:
    """Whether a model fits can be computed only when its preset gives the size of its weights by quantization."""
    known = view.catalog.models[placed.component.model].spec["weights"]["loadedGB"]
    for environment, values in placed.environments:
        chosen = _quantization(values)
        if chosen not in known:
            message = f"the preset {placed.component.model} gives no size in GPU memory for {chosen}"
            yield _quantized(placed, environment, message, chosen, ", ".join(known))


@component_rule("SP212", "GPU class that the environment lacks", engine=True)
def other_class(view: View, placed: Placed) -> Problems:
    """An environment has GPUs of one class; a profile of another one would wait for nodes that never come."""
    for environment, values in placed.environments:
        there = view.environment(environment).spec["gpu"]["class"]
        if "gpu" in values[1] and there != placed.component.profile:
            message = f"{placed.component.name} runs on {placed.component.profile}, and {environment} has {there}"
            known = view.catalog.models[placed.component.model].spec["profiles"]
            fix = (
                f"choose the profile {there}"
                if there in known
                else f"add a profile for {there} to {placed.component.model}"
            )
            yield Problem(
                placed.here("profile"), placed.field("profile"), message, placed.component.profile, there, fix=fix
            )


@component_rule("SP213", "context longer than the model's", engine=True)
def long_context(view: View, placed: Placed) -> Problems:
    """The engine refuses a context window above the one that the model was trained for."""
    native = view.catalog.models[placed.component.model].spec["architecture"]["contextWindow"]
    for environment, (properties, _) in placed.environments:
        asked = properties.get("model", {}).get("contextWindow", 0)
        if asked > native:
            message = f"{placed.component.name} is asked for {asked} tokens; {placed.component.model} knows {native}"
            field = placed.field("properties", "model", "contextWindow")
            yield Problem(_window(placed, environment), field, message, str(asked), f"at most {native}")


def quantity_gib(text: str) -> float:
    """A Kubernetes quantity of memory (Mi, Gi, Ti) in GiB."""
    return float(text[:-2]) * _UNITS[text[-2:]]


def _budgets(view: View) -> Iterator[tuple[str, int, list[tuple[Placed, Demand]]]]:
    """Every environment where the checked Applications take GPUs: its budget, and what each component takes of it."""
    asked = [(name, placed.component) for placed in view.placed for name in placed.component.environments]
    used = dict.fromkeys(name for name, component in asked if demand(component, name).most)
    for environment in used:
        budget = view.environment(environment).spec["gpu"]["budget"]
        yield environment, budget, [(one, demand(one.component, environment)) for one in view.within(environment)]


def _budget(
    view: View, environment: str, message: str, given: int, budget: int, parts: list[tuple[Placed, int]]
) -> Problem:
    takers = ", ".join(f"{placed.name} {count}" for placed, count in parts if count)
    at = view.environment(environment).at("spec", "gpu", "budget")
    fix = "lower replicas, move a model elsewhere, or raise the budget with the nodes"
    return Problem(at, "spec.gpu.budget", f"{message} ({takers})", str(given), f"at most {budget}", fix=fix)


def _fits(view: View, placed: Placed) -> list[tuple[list[str], Fit]]:
    """How a component fits, with the environments where it is so."""
    found: dict[Fit, list[str]] = {}
    for environment in placed.component.environments:
        one = fit(view.catalog, placed.component, environment)
        if one is not None:
            found.setdefault(one, []).append(environment)
    return [(environments, one) for one, environments in found.items()]


def _gpus(placed: Placed) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for environment, (_, traits) in placed.environments:
        if "gpu" in traits:
            yield environment, traits["gpu"]


def _quantization(values: Values) -> str:
    return str(values[0].get("model", {}).get("quantization", "fp16"))


def _quantized(placed: Placed, environment: str, message: str, given: str, allowed: str) -> Problem:
    path = ("properties", "model", "quantization")
    return Problem(placed.at(environment, *path), placed.field(*path), message, given, allowed)


def _count(placed: Placed, environment: str, message: str, given: str, allowed: str) -> Problem:
    path = ("traits", "gpu", "count")
    return Problem(placed.at(environment, *path), placed.field(*path), message, given, allowed)


def _window(placed: Placed, environment: str) -> Any:
    return placed.at(environment, "properties", "model", "contextWindow")
