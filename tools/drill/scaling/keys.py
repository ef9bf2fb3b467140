"""Certificates for KEDA's two halves: one authority, one certificate that serves and calls."""

from __future__ import annotations

import base64
import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_NAMES = ("localhost", "keda-operator", "keda-operator.keda.svc", "keda-metrics-apiserver.keda.svc")
_LIFETIME = datetime.timedelta(days=2)


def make(folder: Path) -> None:
    """Write ca.crt, tls.crt and tls.key, the names that KEDA looks for, into a new folder."""
    folder.mkdir(parents=True, mode=0o700)
    signer, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    authority = _builder("sailplan drill", signer.public_key(), "sailplan drill")
    authority = authority.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    names = [x509.IPAddress(ipaddress.ip_address("127.0.0.1")), *map(x509.DNSName, _NAMES)]
    usage = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    own = _builder("keda-operator", key.public_key(), "sailplan drill")
    own = own.add_extension(x509.SubjectAlternativeName(names), critical=False)
    own = own.add_extension(x509.ExtendedKeyUsage(usage), critical=False)
    _write(folder / "ca.crt", _pem(authority.sign(signer, hashes.SHA256())))
    _write(folder / "tls.crt", _pem(own.sign(signer, hashes.SHA256())))
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption())
    _write(folder / "tls.key", key.private_bytes(*form))


def authority(folder: Path) -> str:
    """Return the authority's certificate as objects of an API server hold it."""
    return base64.b64encode((folder / "ca.crt").read_bytes()).decode("ascii")


def _builder(name: str, key: ec.EllipticCurvePublicKey, issuer: str) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=5))
        .not_valid_after(now + _LIFETIME)
    )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _write(file: Path, content: bytes) -> None:
    file.touch(mode=0o600)
    file.write_bytes(content)
