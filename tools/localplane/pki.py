"""Keys and certificates of one plane: an authority, a server certificate for loopback, a client for aggregation."""

from __future__ import annotations

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_LIFETIME = datetime.timedelta(days=365)
_NAMES = (
    "localhost",
    "kubernetes.default.svc",
    # The API server calls an aggregated API and a webhook by the name of a Service, whatever address that leads to.
    "kubevela-cluster-gateway-service.vela-system.svc",
    "vela-core-webhook.vela-system.svc",
)

CA = "ca.crt"
SERVER = "server"
FRONT_PROXY = "front-proxy-client"
ACCOUNTS = "service-accounts.key"


def ensure(folder: Path) -> None:
    """Make the files in `folder` unless they are there and good for another week.

    Files: ca.crt; server.crt and .key (every listener of the plane); front-proxy-client.crt and .key (how an API server
    shows itself to an aggregated API); service-accounts.key (signs tokens of service accounts).
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if (folder / ACCOUNTS).is_file() and _lasts(folder / CA):
        return
    key = ec.generate_private_key(ec.SECP256R1())
    authority = _certificate("sailplan local plane", key, None, key)
    _write(folder / CA, authority.public_bytes(serialization.Encoding.PEM))
    _issue(folder, SERVER, authority, key, ExtendedKeyUsageOID.SERVER_AUTH)
    _issue(folder, FRONT_PROXY, authority, key, ExtendedKeyUsageOID.CLIENT_AUTH)
    # Last: its presence says that all is there.
    _write(folder / ACCOUNTS, _pem(ec.generate_private_key(ec.SECP256R1())))


def _lasts(file: Path) -> bool:
    end = x509.load_pem_x509_certificate(file.read_bytes()).not_valid_after_utc
    return end - datetime.datetime.now(datetime.UTC) > datetime.timedelta(days=7)


def _issue(
    folder: Path,
    name: str,
    authority: x509.Certificate,
    signer: ec.EllipticCurvePrivateKey,
    usage: x509.ObjectIdentifier,
) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    made = _certificate(name, key, authority, signer, usage)
    _write(folder / f"{name}.crt", made.public_bytes(serialization.Encoding.PEM))
    _write(folder / f"{name}.key", _pem(key))


def _certificate(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    authority: x509.Certificate | None,
    signer: ec.EllipticCurvePrivateKey,
    usage: x509.ObjectIdentifier | None = None,
) -> x509.Certificate:
    """Make a certificate for `key`; without an authority it becomes one."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(authority.subject if authority else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=5))
        .not_valid_after(now + _LIFETIME)
        .add_extension(x509.BasicConstraints(ca=authority is None, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
    )
    if usage is not None:
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        addresses = [x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        names = [*addresses, *map(x509.DNSName, _NAMES)]
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return builder.sign(signer, hashes.SHA256())


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    # Not PKCS #8: an API server does not find a public key in that.
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )


def _write(file: Path, content: bytes) -> None:
    file.touch(mode=0o600)
    file.write_bytes(content)
