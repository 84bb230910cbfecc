"""Protocol buffers from a schema stated as data.

There is no generated code to keep in step with the protobuf library, nor others' to install.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

if TYPE_CHECKING:
    from collections.abc import Mapping


def message_class(package: str, schema: Mapping[str, str], name: str) -> Any:
    """The class of a message, with those of its parts.

    `schema` has the fields of each message: "1 id uint64, 2 line *Line"; * is repeated.
    """
    field_type = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(
        name=f"sonde/{package}.proto", package=package, syntax="proto3"
    )
    for message_name, fields in schema.items():
        message = file.message_type.add(name=message_name)
        for field in fields.split(", "):
            number, field_name, kind = field.split()
            added = message.field.add(
                name=field_name,
                number=int(number),
                label=(field_type.LABEL_REPEATED if kind[0] == "*" else field_type.LABEL_OPTIONAL),
            )
            kind = kind.lstrip("*")
            if kind in schema:
                added.type = field_type.TYPE_MESSAGE
                added.type_name = f".{file.package}.{kind}"
            else:
                added.type = field_type.Type.Value(f"TYPE_{kind.upper()}")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{file.package}.{name}"))


def field_number(schema: Mapping[str, str], message: str, field: str) -> int:
    """The number of a field in such a schema, for bytes that are written without the class."""
    numbers = {name: int(number) for number, name, _ in map(str.split, schema[message].split(", "))}
    return numbers[field]
