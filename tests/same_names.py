"""Names that two sources of one library both define in an anonymous namespace: a unity build compiles many of its sources as
one (tools/manual/building.md), where the second definition is an error. Part of lint.py."""

import re

LIBRARY = re.compile(r"static_library\((.*?)\)\n", re.DOTALL)
FILES = re.compile(r"\bfiles\((.*?)\)", re.DOTALL)  # sources of a module, which stand beside it
SOURCE = re.compile(r"'([\w/.]+\.cpp)'")
BY_ITSELF = ("by_itself", "unity=off", "compiled_once")  # what a library of sources that are never compiled as one says
ANONYMOUS = re.compile(r"^namespace \{\n(.*?)^\} // namespace\n", re.DOTALL | re.MULTILINE)
# The format begins what a namespace has in the first column.
TYPE = re.compile(r"^(?:struct|class|enum class|enum) (\w+)(?= final| :| \{)", re.MULTILINE)
VALUE = re.compile(r"^(?:constexpr|const|using|thread_local) (?:[^\n(){}]*? )?[*&]?(\w+)(?:\[[^\]]*\])*(?: =|\{)", re.MULTILINE)
FUNCTION = re.compile(r"^(?!\s|//|#|return )[\w:<>,&* ]+[ *&](\w+)\(([^;{}]*?)\)(?: const| noexcept)* \{", re.MULTILINE)
INLINE = re.compile(r"^inline [\w:<>,&* ]+[ *&](\w+)\(([^;{}]*?)\)(?: noexcept)* \{", re.MULTILINE)


def with_types(name, parameters):
    """A function by its name and the types of its parameters, by value: others of the name are overloads."""
    types = [re.sub(r"\s*\b\w+\s*(=.*)?$", "", " ".join(one.split())) for one in parameters.split(",")]
    types = [re.sub(r"\bconst\b|[& ]", "", one).replace("string_view", "string") for one in types]
    return f"{name}({', '.join(types)})"


def names_in(text):
    """The names that the anonymous namespaces of a source define."""
    names = set()
    for body in ANONYMOUS.findall(text):
        names |= {*TYPE.findall(body), *VALUE.findall(body)}
        names |= {with_types(*function) for function in FUNCTION.findall(body)}
    return names


def libraries(root, folders):
    """The sources of each library that a unity build compiles together."""
    for folder in folders:
        for build in sorted((root / folder).rglob("meson.build")):
            text = build.read_text(encoding="utf-8")
            for library in [*LIBRARY.findall(text), " ".join(FILES.findall(text))]:
                if not any(word in library for word in BY_ITSELF):
                    yield [build.parent / name for name in SOURCE.findall(library)]


def check_same_names(root, folders):
    for sources in libraries(root, folders):
        first = {}
        for header in sorted({path for source in sources for path in source.parent.glob("*.hpp")}):
            for function in INLINE.findall(header.read_text(encoding="utf-8")):
                first.setdefault(with_types(*function), header)
        for source in sources:
            for name in sorted(names_in(source.read_text(encoding="utf-8")) if source.exists() else ()):
                other = first.setdefault(name, source)
                if other != source:
                    yield f"{source.relative_to(root)}:1: defines {name}, as {other.relative_to(root)} does; a unity build compiles them as one"
