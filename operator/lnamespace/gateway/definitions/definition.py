"""The parts of a tenant's CustomResourceDefinition that the gateway uses."""

import base64

import msgspec
from msgspec import Raw

NULL = Raw(b"null")


class DefinitionMeta(msgspec.Struct, frozen=True, rename="camel"):
    """The metadata of a definition."""

    name: str = ""
    uid: str = ""
    generation: int = 0
    resource_version: str = ""
    deletion_timestamp: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] | None = None
    managed_fields: tuple[Raw, ...] | None = None


class DefinitionVersion(msgspec.Struct, frozen=True, rename="camel"):
    """A version of a definition. Its schema may have a megabyte, and is not decoded."""

    name: str = ""
    served: bool = False
    storage: bool = False
    schema: Raw = NULL
    selectable_fields: Raw = NULL


class _ConversionService(msgspec.Struct, frozen=True):
    path: str = ""


class _ClientConfig(msgspec.Struct, frozen=True, rename="camel"):
    service: _ConversionService | None = None
    ca_bundle: str | None = None


class _ConversionWebhook(msgspec.Struct, frozen=True, rename="camel"):
    client_config: _ClientConfig | None = None


class _Conversion(msgspec.Struct, frozen=True):
    strategy: str = "None"
    webhook: _ConversionWebhook | None = None


class _DefinitionNames(msgspec.Struct, frozen=True, rename="camel"):
    kind: str = ""
    plural: str = ""
    singular: str = ""
    short_names: tuple[str, ...] | None = None


class DefinitionSpec(msgspec.Struct, frozen=True):
    """The spec of a definition."""

    group: str = ""
    scope: str = ""
    names: _DefinitionNames = _DefinitionNames()
    versions: tuple[DefinitionVersion, ...] = ()
    conversion: _Conversion = _Conversion()


class DefinitionCondition(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A condition of a definition. Tenants may write several of a type, also without a time."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None


class DefinitionStatus(msgspec.Struct, frozen=True, rename="camel"):
    """The status of a definition."""

    conditions: tuple[DefinitionCondition, ...] | None = None
    stored_versions: tuple[str, ...] | None = None


class CustomResourceDefinition(msgspec.Struct, frozen=True):
    """A CustomResourceDefinition."""

    metadata: DefinitionMeta = DefinitionMeta()
    spec: DefinitionSpec = DefinitionSpec()
    status: DefinitionStatus = DefinitionStatus()

    @property
    def conditions(self) -> tuple[DefinitionCondition, ...]:
        """Return the conditions, in their order."""
        return self.status.conditions or ()

    def condition(self, kind: str) -> tuple[int, DefinitionCondition] | None:
        """Return the first condition of a type, which is the one that counts, and its place."""
        found = enumerate(self.conditions)
        return next(((at, each) for at, each in found if each.type == kind), None)

    @property
    def _client(self) -> _ClientConfig:
        webhook = self.spec.conversion.webhook
        return (webhook and webhook.client_config) or _ClientConfig()

    @property
    def conversion_path(self) -> str:
        """Return the path of the conversion webhook; empty if there is none."""
        return self._client.service.path if self._client.service else ""

    @property
    def conversion_authorities(self) -> bytes:
        """Return the CAs that the API server trusts there, in PEM."""
        try:
            return base64.b64decode(self._client.ca_bundle or "")
        except ValueError:
            return b""


definition_decoder = msgspec.json.Decoder(CustomResourceDefinition)
decode_definition = definition_decoder.decode
