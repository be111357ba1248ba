"""The error tree of moodstream: one leaf per cause, each with a stable code and a next step.

MoodstreamError
├── InvalidEvent        a field of an event breaks a rule
├── EventTooLarge       an encoded event is over the limit
├── BatchTooLarge       too many events, or too many bytes, in one batch
├── UnknownType         no event has this type
├── MalformedRecord     broken UTF-8 or JSON, no value, an envelope that cannot be read
├── KeyMismatch         the record's key is not the key of the event's agent
├── PartitionMismatch   the record lies in another partition than its key says
├── FutureEvent         the event happened after its own record was written
├── InternalFault       a fold raised: a bug of ours
├── InvalidUsage, InvalidSettings, MissingExtra, PortInUse, BadFile   at start, on this machine
├── BrokerUnavailable, TopicMissing, TopicMismatch, UnsupportedBroker   Kafka
├── StoreUnavailable, Fenced, StateLost, SourceGap, FoldMismatch   the state in Redis
└── NotFound, Restoring, InvalidQuery, ServiceUnavailable    answers of the query service, or none
"""

# ruff: noqa: N818 - the names are what users read and catch; the base says that they are errors

from __future__ import annotations

from typing import Any, ClassVar


class MoodstreamError(Exception):
    """The base of every error that moodstream raises on purpose.

    `code` never changes for a cause; `status` is the HTTP status of the answer; `hint` names the next step.
    """

    code: ClassVar[str] = "error"
    title: ClassVar[str] = "Something went wrong"
    status: ClassVar[int] = 500
    hint: str = "See the detail."

    def __init__(self, detail: str = "", *, hint: str | None = None, **fields: object) -> None:
        super().__init__(detail or self.title)
        self.detail = detail or self.title
        self.fields: dict[str, object] = fields
        if hint is not None:
            self.hint = hint

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by parts: leaves have constructors of their own."""
        return _rebuild, (type(self), self.detail, self.hint, self.fields)

    def to_problem(self) -> dict[str, object]:
        """Return the error as problem details (RFC 9457), with `code`, `hint` and the extra members."""
        own = {
            "type": f"urn:moodstream:error:{self.code}",
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
            "code": self.code,
            "hint": self.hint,
        }
        return {**self.fields, **own}


def _rebuild(kind: type[MoodstreamError], detail: str, hint: str, fields: dict[str, object]) -> MoodstreamError:
    error = kind.__new__(kind, detail)
    MoodstreamError.__init__(error, detail, hint=hint)
    error.fields = fields
    return error


class InvalidEvent(MoodstreamError):
    """A field of an event breaks a rule; `field` and `rule` name the two (docs/events.md lists the rules)."""

    code = "invalid_event"
    title = "The event breaks a rule"
    status = 422
    hint = "Correct the field that is named; docs/events.md lists all rules."

    def __init__(self, field: str, rule: str, detail: str = "") -> None:
        super().__init__(f"{field}: {detail or rule}", field=field, rule=rule)

    @property
    def field(self) -> str:
        """The field, dotted where nested (`pad.pleasure`)."""
        return str(self.fields["field"])

    @property
    def rule(self) -> str:
        """The stable word for the broken rule (`not_blank`, `range`, ...)."""
        return str(self.fields["rule"])


class EventTooLarge(MoodstreamError):
    """An encoded event is larger than the limit `event_bytes`."""

    code = "event_too_large"
    title = "The event is too large"
    status = 413
    hint = "Shorten description, metadata or embedding, or raise the limit event_bytes."


class BatchTooLarge(MoodstreamError):
    """A batch has more events than `batch_events` or more bytes than `batch_bytes`."""

    code = "batch_too_large"
    title = "The batch is too large"
    status = 413
    hint = "Send the events in several batches."


class UnknownType(MoodstreamError):
    """No event has the type that the record names, or it names none."""

    code = "unknown_type"
    title = "The event type is not known"
    status = 422
    hint = "Use a type of docs/events.md; a newer publisher needs a newer moodstream."


class MalformedRecord(MoodstreamError):
    """The bytes are no event at all: broken UTF-8 or JSON, no value, an envelope that cannot be read."""

    code = "malformed_record"
    title = "The record cannot be read"
    status = 400
    hint = "Send one JSON object in UTF-8, plain or as a CloudEvent 1.0."


class KeyMismatch(MoodstreamError):
    """The key of a record is not the key of its event's agent."""

    code = "key_mismatch"
    title = "The key is not the event's"
    status = 422
    hint = "Key records by enc(tenant_id) + '/' + enc(agent_id), percent-encoded (docs/events.md)."


class PartitionMismatch(MoodstreamError):
    """A record lies in another partition than murmur2 of its key says."""

    code = "partition_mismatch"
    title = "The record lies in the wrong partition"
    status = 422
    hint = "Set the producer's partitioner: murmur2_random in librdkafka, the default in Java (docs/events.md)."


class FutureEvent(MoodstreamError):
    """An event happened later than its record's own Kafka timestamp plus the limit `future_seconds`."""

    code = "future_event"
    title = "The event lies in the future"
    status = 422
    hint = "Check the publisher's clock and the unit of occurred_at."


class InternalFault(MoodstreamError):
    """A fold raised: a bug in moodstream. The event changed no row and is kept as a dead letter."""

    code = "internal_error"
    title = "An internal error"
    status = 500
    hint = "Report it with the dead letter, which holds the whole record: publish that again after an update."


class InvalidSettings(MoodstreamError):
    """A setting is missing, malformed or contradicts another one."""

    code = "invalid_settings"
    title = "The settings are not valid"
    status = 500
    hint = "Correct the setting; docs/settings.md has them all."


class InvalidUsage(MoodstreamError):
    """A command was called with flags or arguments that it does not take."""

    code = "invalid_usage"
    title = "The command is not called right"
    status = 400
    hint = "Add --help to the command: it lists flags and arguments."


class MissingExtra(MoodstreamError):
    """A feature needs packages of an extra that is not installed."""

    code = "missing_extra"
    title = "An optional part is not installed"
    status = 500
    hint = "Install the extra that is named, such as moodstream[worker]."


class PortInUse(MoodstreamError):
    """A port that this process wants to listen on is taken."""

    code = "port_in_use"
    title = "A port is in use"
    status = 500
    hint = "Stop what listens there, or choose another port."


class BadFile(MoodstreamError):
    """A file is not what it should be; `line` is the first bad line (from 1), `reason` says why."""

    code = "bad_file"
    title = "The file cannot be read"
    status = 400
    hint = "Check that it is the right file and the right format."

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line}: {reason}", line=line, reason=reason)


class BrokerUnavailable(MoodstreamError):
    """No Kafka broker answers at the address."""

    code = "broker_unavailable"
    title = "The broker does not answer"
    status = 503
    hint = "Check that Kafka runs at that address and can be reached from here."


class TopicMissing(MoodstreamError):
    """A topic that is needed does not exist."""

    code = "topic_missing"
    title = "A topic is missing"
    status = 503
    hint = "Run `moodstream topics create`."


class TopicMismatch(MoodstreamError):
    """A topic exists with another partition count or policy than this deployment needs."""

    code = "topic_mismatch"
    title = "A topic does not fit"
    status = 500
    hint = "Correct the topic's settings, or those of moodstream: docs/settings.md."


class UnsupportedBroker(MoodstreamError):
    """The broker cannot do what is asked, as the embedded one, which is for trying things out."""

    code = "unsupported_broker"
    title = "The broker cannot do this"
    status = 501
    hint = "Use Apache Kafka."


class StoreUnavailable(MoodstreamError):
    """Redis does not answer at the address, or refuses to write."""

    code = "store_unavailable"
    title = "Redis does not answer"
    status = 503
    hint = "Check that Redis runs at that address, has memory, and has maxmemory-policy noeviction."


class Fenced(MoodstreamError):
    """Another worker owns the partition now; this one must write no more."""

    code = "fenced"
    title = "The partition has another owner"
    status = 409
    hint = "Nothing to do: the newer owner goes on."


class StateLost(MoodstreamError):
    """Redis no longer has what this worker wrote there."""

    code = "state_lost"
    title = "Redis lost the state"
    status = 503
    hint = "Nothing to do: the worker restores the partition from the changelog."


class SourceGap(MoodstreamError):
    """Records between the applied position and the start of the log are gone."""

    code = "source_gap"
    title = "The log has a hole"
    status = 500
    hint = "The log was cut before it was read. See docs/durability.md before you go on."


class FoldMismatch(MoodstreamError):
    """A row was made by another fold version or with other parameters."""

    code = "fold_mismatch"
    title = "A row is of another fold"
    status = 500
    hint = "Use the moodstream that wrote the row, or publish the log again in a new deployment (docs/settings.md)."


class NotFound(MoodstreamError):
    """There is no such thing, or it belongs to somebody else: both give the same answer."""

    code = "not_found"
    title = "Not found"
    status = 404
    hint = "Check tenant, agent and id."


class Restoring(MoodstreamError):
    """The partition of the agent is being restored; its rows are not complete yet."""

    code = "restoring"
    title = "The state is being restored"
    status = 503
    hint = "Ask again in a moment."


class Rewritten(MoodstreamError):
    """Rows of an agent were erased, or made anew, while they were read in steps: what was read is of no one moment."""

    code = "rewritten"
    title = "The agent was rewritten while it was read"
    status = 503
    hint = "Ask again."


class InvalidQuery(MoodstreamError):
    """A question to the query service is not well formed."""

    code = "invalid_query"
    title = "The query is not valid"
    status = 422
    hint = "Correct the parameter that is named."


class ServiceUnavailable(MoodstreamError):
    """No query service answers at the address."""

    code = "service_unavailable"
    title = "The query service does not answer"
    status = 503
    hint = (
        "Start it with `moodstream up` or `moodstream serve`, or set query.url (MOODSTREAM_QUERY__URL) to its address."
    )
