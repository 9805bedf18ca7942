"""Sign the approved CertificateSigningRequests of LClusters, with a root that replicas share."""

import asyncio
import logging
from datetime import UTC, datetime

import msgspec

from lnamespace.errors import ClusterError, Conflict, NotFound, SettingsError
from lnamespace.gateway.certificates.authorities import (
    RootAuthority,
    TenantIdentity,
    make_root,
    read_root,
)
from lnamespace.gateway.certificates.signing_requests import decode_request, signed_status
from lnamespace.gateway.tenants.cache import Tenants
from lnamespace.gateway.tenants.namespaces import WatchedObject, read_watched
from lnamespace.kube.client import Client
from lnamespace.kube.reflector import Reflector
from lnamespace.kube.resources import CERTIFICATE_SIGNING_REQUEST, CONFIG_MAP, SECRET
from lnamespace.kube.store import Store
from lnamespace.runtime.certificates import key_pem

_RETRY_SECONDS = 1.0

log = logging.getLogger(__name__)


class _SecretMeta(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str


class _RootSecret(msgspec.Struct, frozen=True):
    metadata: _SecretMeta
    data: dict[str, bytes] | None = None


async def shared_root(client: Client, secret: str) -> RootAuthority:
    """Return the root in a Secret, NAMESPACE/NAME; the first replica creates it.

    Raises
    ------
    SettingsError
        The Secret cannot be read or written, or it holds something else.
    """
    namespace, _, name = secret.partition("/")
    path = SECRET.path(name, namespace)
    while True:
        try:
            found = msgspec.json.decode(await client.get(path), type=_RootSecret)
            data = found.data or {}
            if data:
                return read_root(data.get("tls.crt", b""), data.get("tls.key", b""))
            await client.patch(path, _filled(found, make_root(datetime.now(UTC))))
        except Conflict:
            continue  # another replica was first
        except (ClusterError, ValueError) as error:
            raise SettingsError(f"--gateway-signer-secret: Secret {secret}: {error}") from error


async def publish_root(client: Client, option: str, config_map: str, root: RootAuthority) -> None:
    """Write the root's certificate into the ConfigMap NAMESPACE/NAME that an option names.

    Raises
    ------
    SettingsError
        The ConfigMap cannot be written.
    """
    namespace, _, name = config_map.partition("/")
    body = msgspec.json.encode({"data": {"ca.crt": root.pem}})
    try:
        await client.patch(CONFIG_MAP.path(name, namespace), body)
    except ClusterError as error:
        flag = f"--{option.replace('_', '-')}"
        raise SettingsError(f"{flag}: ConfigMap {config_map}: {error}") from error


def _filled(found: _RootSecret, root: RootAuthority) -> bytes:
    data = {"tls.crt": root.pem.encode(), "tls.key": key_pem(root.key)}
    version = {"resourceVersion": found.metadata.resource_version}
    return msgspec.json.encode({"metadata": version, "data": data})


class Signer:
    """A signer of requests that are approved; each replica has one, and the first answer counts."""

    def __init__(
        self, client: Client, lcluster_label: str, tenants: Tenants, root: RootAuthority
    ) -> None:
        self._client = client
        self._label = lcluster_label
        self._tenants = tenants
        self._root = root
        self._waiting: asyncio.Queue[WatchedObject] = asyncio.Queue()
        store = Store[WatchedObject](self._changed)
        self._reflector = Reflector(
            client, CERTIFICATE_SIGNING_REQUEST, store, read_watched, lcluster_label
        )

    async def run(self) -> None:
        """Sign for ever."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._reflector.run())
            group.create_task(self._work())

    def _changed(self, _: WatchedObject | None, new: WatchedObject | None) -> None:
        if new:
            self._waiting.put_nowait(new)

    async def _work(self) -> None:
        while True:
            item = await self._waiting.get()
            about = {"request": item.name}
            try:
                await self._sign(item)
            except (Conflict, NotFound):
                pass  # the watch reports the newer version
            except ClusterError as error:
                log.warning("a certificate is not written", extra=about | {"error": str(error)})
                if error.retryable:
                    # A write that the API server finds invalid would be refused for ever.
                    loop = asyncio.get_running_loop()
                    loop.call_later(_RETRY_SECONDS, self._waiting.put_nowait, item)
            except Exception:
                # Tenants write these requests: one that fails here must not end it for all others.
                log.exception("a certificate cannot be signed", extra=about)

    async def _sign(self, item: WatchedObject) -> None:
        request = decode_request(item.raw)
        tenant = self._tenants.get(item.labels.get(self._label, ""))
        if tenant is None or not request.is_due or not item.name.startswith(tenant.view.prefix):
            return
        identity = TenantIdentity(tenant.name, tenant.cluster.uid)
        now = datetime.now(UTC)
        status = signed_status(request, self._root.tenant_authority(identity), now)
        change = {"metadata": {"resourceVersion": str(item.version)}, "status": status}
        await self._client.patch(
            f"{CERTIFICATE_SIGNING_REQUEST.path(item.name)}/status", msgspec.json.encode(change)
        )
        log.info(
            "signed" if "certificate" in status else "not signed", extra={"request": item.name}
        )
