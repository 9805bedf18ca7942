"""The port for programs in pods: its certificate, and where they learn of its CA."""

import asyncio
import json
import ssl
from base64 import b64encode
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from lnamespace.errors import SettingsError
from lnamespace.gateway.certificates.authorities import TenantIdentity, make_root
from lnamespace.gateway.certificates.signer import publish_root
from lnamespace.gateway.certificates.signing_requests import decode_request, signed_status
from lnamespace.gateway.certificates.tls import own_context
from lnamespace.gateway.pods import API_SERVER_NAMES, certified_hosts
from lnamespace.http.exchange import Exchange
from lnamespace.http.server import HttpServer
from lnamespace.runtime.addresses import Address
from lnamespace.runtime.certificates import certificate_pem, key_pem
from lnamespace.translate.objects.confinement.certificates import OWN_CLIENT_SIGNER

from tests.unit.support.server import client_of, serving

ROOT = make_root(datetime.now(UTC))
SERVICE = "lnamespace-system/lnamespace-gateway-for-pods"
ADDRESS = "127.0.0.1"


async def answer(exchange: Exchange) -> None:
    await exchange.answer(200, (), exchange.request.target.encode())


async def ask(port: int, name: str, context: ssl.SSLContext | None = None) -> bytes:
    """Ask as a program in a pod does: by address or name, verified as strictly as Python can."""
    if context is None:
        context = ssl.create_default_context(cadata=ROOT.pem)
        context.verify_flags |= ssl.VERIFY_X509_STRICT
    reader, writer = await asyncio.open_connection(ADDRESS, port, ssl=context, server_hostname=name)
    writer.write(b"GET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    read = await reader.read()
    writer.close()
    return read


@pytest.mark.parametrize("name", [ADDRESS, "kubernetes.default.svc"])
async def test_clients_verify_the_server_by_the_dialled_address_or_name(name: str) -> None:
    server = HttpServer(answer)
    context = own_context(ROOT, ADDRESS, "fd00::1", *API_SERVER_NAMES)
    port = (await server.start(Address(ADDRESS, 0), context)).port
    try:
        assert (await ask(port, name)).endswith(b"/version")
        with pytest.raises(ssl.SSLCertVerificationError, match="mismatch"):
            await ask(port, "lclusters.example.com")
        other = ssl.create_default_context(cadata=make_root(datetime.now(UTC)).pem)
        with pytest.raises(ssl.SSLCertVerificationError):
            await ask(port, name, other)
    finally:
        await server.stop()


async def test_a_server_listens_at_several_addresses_until_it_is_stopped() -> None:
    server = HttpServer(answer)
    writers: list[asyncio.StreamWriter] = []
    first, second = [(await server.start(Address(ADDRESS, 0))).port for _ in range(2)]
    for port in (first, second):
        reader, writer = await asyncio.open_connection(ADDRESS, port)
        writer.write(b"GET /version HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b"200" in await reader.readline()
        writers.append(writer)
    assert server.connections == 2
    await server.stop()
    for writer in writers:
        writer.close()
    for port in (first, second):
        with pytest.raises(ConnectionError):
            await asyncio.open_connection(ADDRESS, port)


async def test_the_certificate_names_the_cluster_ips_of_the_gateways_service() -> None:
    async with serving() as server, client_of(server.url) as client:
        asked = asyncio.create_task(certified_hosts(client, SERVICE))
        request = await server.next("GET")
        assert request.path == f"/api/v1/namespaces/{SERVICE.replace('/', '/services/')}"
        request.answer({"spec": {"clusterIPs": ["10.0.0.7", "fd00::7"]}})
        assert await asked == ("10.0.0.7", "fd00::7", *API_SERVER_NAMES)


async def test_the_ca_is_published_in_a_configmap_named_like_the_service() -> None:
    async with serving() as server, client_of(server.url) as client:
        written = asyncio.create_task(publish_root(client, "gateway_pod_service", SERVICE, ROOT))
        request = await server.next("PATCH")
        assert request.path == f"/api/v1/namespaces/{SERVICE.replace('/', '/configmaps/')}"
        assert request.json == {"data": {"ca.crt": ROOT.pem}}
        request.answer({})
        await written


@pytest.mark.parametrize(
    ("body", "status"), [({"spec": {"type": "ExternalName"}}, 200), (b"{", 200), ({}, 404)]
)
async def test_a_service_without_a_cluster_ip_is_a_settings_error(body: Any, status: int) -> None:
    async with serving() as server, client_of(server.url) as client:
        asked = asyncio.create_task(certified_hosts(client, SERVICE))
        (await server.next("GET")).answer(body, status)
        with pytest.raises(SettingsError, match=f"--gateway-pod-service: Service {SERVICE}"):
            await asked


async def test_a_ca_that_cannot_be_published_is_a_settings_error() -> None:
    async with serving() as server, client_of(server.url) as client:
        written = asyncio.create_task(publish_root(client, "gateway_pod_service", SERVICE, ROOT))
        (await server.next("PATCH")).refuse(403, "Forbidden")
        with pytest.raises(SettingsError, match=f"ConfigMap {SERVICE}"):
            await written


async def test_a_client_certificate_of_an_lcluster_is_not_valid_for_a_server(
    tmp_path: Path,
) -> None:
    """Pods trust the root of all of them: whoever gets one must not stand for the gateway."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kubernetes.default.svc")])
    asked = x509.CertificateSigningRequestBuilder().subject_name(subject)
    name = x509.SubjectAlternativeName([x509.DNSName("kubernetes.default.svc")])
    pem = asked.add_extension(name, critical=False).sign(key, hashes.SHA256())
    spec = {
        "request": b64encode(pem.public_bytes(Encoding.PEM)).decode(),
        "signerName": OWN_CLIENT_SIGNER,
        "usages": ["client auth"],
    }
    request = decode_request(json.dumps({"spec": spec}))
    authority = ROOT.tenant_authority(TenantIdentity("acme", "uid-1"))
    issued = signed_status(request, authority, datetime.now(UTC))["certificate"]
    chain = issued + certificate_pem(authority.certificate)
    for file, text in (("tls.crt", chain), ("tls.key", key_pem(key))):
        (tmp_path / file).write_bytes(text)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "tls.crt", tmp_path / "tls.key")
    server = HttpServer(answer)
    port = (await server.start(Address(ADDRESS, 0), context)).port
    trusting = ssl.create_default_context(cadata=ROOT.pem)
    trusting.check_hostname = False
    try:
        with pytest.raises(ssl.SSLCertVerificationError, match="purpose"):
            await ask(port, "kubernetes.default.svc", trusting)
    finally:
        await server.stop()
