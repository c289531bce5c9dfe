#!/usr/bin/env python3
"""Each rule of lint.py finds a breach of it, in a small tree, and nothing in a sound one."""

import contextlib
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import lint

SOUND = {
    "README.md": "# A tree\n",
    "kernels/README.md": "# kernels\n\n- `ops/` may include: `kernels/tensor/`.\n",
    "kernels/tensor/tensor.hpp": "#pragma once\n",
    "kernels/ops/ops.hpp": '#pragma once\n\n#include "kernels/tensor/tensor.hpp"\n',
    "actors/README.md": "# actors\n\n| 1 | `actors/data/column.hpp` | `first_row` | One step. |\n",
    "actors/data/README.md": "# data\n\nReads `column.hpp`. May include: `kernels/tensor/`, and of\n`kernels/ops/` one header. It is small.\n",
    "actors/data/column.hpp": '#pragma once\n\n#include "kernels/ops/ops.hpp"\n#include "kernels/tensor/tensor.hpp"\nint first_row();\n',
}


class Lint(unittest.TestCase):
    def offences(self, **changed):
        """What is said of the sound tree with these files: `a__b_hpp` is a/b.hpp."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name in lint.MAY_INCLUDE:
                (root / name).mkdir()
            files = {**SOUND, **{name.replace("__", "/").replace("_hpp", ".hpp").replace("_md", ".md"): text
                                 for name, text in changed.items()}}
            for name, text in files.items():
                path = root / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                lint.check_tree(root)
            return [line for line in said.getvalue().splitlines() if not line.startswith("skipped:")]

    def finds(self, what, **changed):
        said = self.offences(**changed)
        self.assertEqual(len(said), 1, said)
        self.assertIn(what, said[0])

    def test_a_sound_tree_keeps_the_rules(self):
        self.assertEqual(self.offences(), ["3 files keep the rules"])

    def test_mutations_apply(self):
        row = ("import collections\nMUTATIONS = [collections.namedtuple('M', 'name file old')"
               "('a column less', 'actors/data/column.hpp', '%s')]\n")
        self.assertEqual(self.offences(**{"tests/mutations.py": row % "int first_row();"}), ["3 files keep the rules"])
        self.finds("its line stands 0 times in actors/data/column.hpp", **{"tests/mutations.py": row % "int last_row();"})

    def test_names_of_sources_compiled_as_one(self):
        library = "static_library('ops', 'a.cpp', 'b.cpp',\n    include_directories: root)\n"
        a = "namespace {\n\nconstexpr int step = 1;\nint next(int x) {\n    return x + step;\n}\n\n} // namespace\n"
        said = {"kernels/ops/meson.build": library, "kernels/ops/a.cpp": a}
        self.assertEqual(self.offences(**said, **{"kernels/ops/b.cpp": a.replace("step", "pace").replace("int x", "long x")}),
                         ["5 files keep the rules"])
        self.finds("kernels/ops/b.cpp:1: defines step, as kernels/ops/a.cpp does",
                   **said, **{"kernels/ops/b.cpp": a.replace("int x", "long x")})
        self.finds("kernels/ops/b.cpp:1: defines next(int), as kernels/ops/a.cpp does",
                   **said, **{"kernels/ops/b.cpp": a.replace("step", "pace")})

    def test_arrows_between_folders(self):
        self.finds("kernels/ops/a.hpp:1: kernels/ may not include", kernels__ops__a_hpp='#include "actors/data/column.hpp"\n')

    def test_arrows_between_sub_folders_are_what_a_readme_says(self):
        self.finds("actors/data/a.hpp:1: actors/data/ may not include kernels/cpu/x.hpp",
                   actors__data__a_hpp='#include "kernels/cpu/x.hpp"\n')
        self.finds("kernels/ops/a.hpp:1: kernels/ops/ may not include schemas/x.hpp",
                   kernels__ops__a_hpp='#include "schemas/x.hpp"\n')

    def test_a_sub_folder_says_what_it_may_include(self):
        self.finds("no README says what kernels/cpu/ may include", kernels__cpu__a_hpp='#include "kernels/ops/ops.hpp"\n')

    def test_caf_stays_in_private_files(self):
        self.finds("actors/data/a.hpp:1: CAF is for", actors__data__a_hpp="#include <caf/all.hpp>\n")

    def test_methods_of_a_class(self):
        methods = "".join(f"    int m{i}(std::map<int, int> a, int b = f({{}})) const {{ return {{a, b}}; }}\n" for i in range(41))
        self.finds("class big has 41 methods", kernels__ops__a_hpp=f"class big final : public small {{\n{methods}}};\n")

    def test_fields_of_a_class(self):
        fields = "".join(f"    std::map<int, std::function<void(int)>> f{i}_{{1, 2}}; // x(y)\n" for i in range(16))
        self.finds("class big has 16 fields", kernels__ops__a_hpp=f"class big {{\n  private:\n{fields}}};\n")

    def test_what_is_no_member_does_not_count(self):
        others = ("    using u{0} = int;\n    friend class f{0};\n    enum class e{0} {{ a, b }};\n    struct s{0} {{ int a = 1; }};\n"
                  "    void m{0}() = delete;\n    static constexpr int c{0} = 1;\n")
        body = "".join(others.format(i) for i in range(50)) + "    big() : a_{1}, b_{2} {}\n    int a_ = 0, b_ = 0;\n"
        text = f"enum class kind {{ a }};\nclass other;\nclass big {{\n{body}}};\n"
        self.assertEqual([size for size in lint.class_sizes(text) if size[1] == "big"], [(3, "big", 1, 2)])

    def test_structs_count_as_classes_do_nested_ones_and_those_of_sources_too(self):
        fields = "".join(f"    int f{i} = 0;\n" for i in range(16))
        self.finds("kernels/ops/a.hpp:1: class wide has 16 fields", kernels__ops__a_hpp=f"struct wide {{\n{fields}}};\n")
        self.finds("kernels/ops/a.cpp:2: class wide has 16 fields",
                   **{"kernels/ops/a.cpp": f"class small {{\nstruct wide {{\n{fields}}};\n}};\n"})

    def test_sub_folders_do_not_include_each_other(self):
        self.finds("a circle of includes: actors/data -> actors/pipe -> actors/data",
                   actors__data__README_md="Reads `column.hpp`. May include: `kernels/`, `actors/pipe/`.\n",
                   actors__data__b_hpp='#include "actors/pipe/a.hpp"\n', actors__pipe__a_hpp='#include "actors/data/column.hpp"\n',
                   actors__pipe__README_md="May include: `actors/data/column.hpp`.\n")

    def test_folders_within_a_sub_folder_have_arrows_too(self):
        items = "Reads `column.hpp`. May include: `kernels/`.\n\n- `files/` may include `actors/data/column.hpp`.\n"
        self.finds("actors/data/files/ may not include actors/data/rows/b.hpp", actors__data__README_md=items,
                   actors__data__files__a_hpp='#include "actors/data/column.hpp"\n#include "actors/data/rows/b.hpp"\n')
        self.assertEqual(self.offences(actors__data__README_md=items, actors__data__files__a_hpp='#include "actors/data/column.hpp"\n'),
                         ["4 files keep the rules"])

    def test_comments_begin_with_their_subject(self):
        self.finds("kernels/ops/a.hpp:4: a comment that begins with a clause",
                   kernels__ops__a_hpp="// The rows\n// Of a matrix.\nint b;\n// Of a column.\nint a;\n// Offers.\n")
        self.assertEqual(self.offences(**{"tests/a.hpp": "// What a test has.\n"}), ["4 files keep the rules"])

    def test_json_of_another_library_stays_in_its_unit(self):
        self.finds("kernels/ops/a.hpp:1: nlohmann's header", kernels__ops__a_hpp="#include <nlohmann/json_fwd.hpp>\n")

    def test_subjects_of_commits(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            git = ["git", "-C", folder, "-c", "user.name=a", "-c", "user.email=a@b"]
            subprocess.run([*git, "init", "-q"], check=True)
            for subject in ("x" * 72, "y" * 73):
                subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", subject, "--date", "2030-01-01T00:00:00Z"], check=True,
                               env={**os.environ, "GIT_COMMITTER_DATE": "2030-01-01T00:00:00Z"})
            said = list(lint.check_commits(root))
            self.assertEqual(len(said), 1, said)
            self.assertIn("a subject of 73 characters, more than 72: yyy", said[0])

    def test_paths_of_readmes_exist(self):
        self.finds("actors/data/README.md:1: there is no data/row.hpp", actors__data__README_md="`data/row.hpp` and `column.hpp`. May include: `kernels/`.\n")
        self.finds("actors/data/README.md:1: there is no kernels/cpu/",
                   actors__data__README_md="`kernels/cpu/`, `kernels/ops/`, `NAME.hpp`. May include: `kernels/`.\n")

    def test_columns_and_lines(self):
        self.finds("longer than 125 columns", kernels__ops__a_hpp="// " + "x" * 125 + "\n")
        self.finds("longer than 400 lines", kernels__ops__a_hpp="\n" * 401)

    @unittest.skipUnless(lint.clang_format(), "there is no clang-format of the version")
    def test_format(self):
        self.finds("kernels/ops/a.hpp:2: clang-format -i kernels/ops/a.hpp changes it",
                   **{".clang-format": "BasedOnStyle: LLVM\n", "kernels__ops__a_hpp": "int a;\nint  b;\nint  c;\n"})

    def test_calls_of_tools_alone(self):
        self.finds("getenv belongs to tools/", kernels__ops__a_hpp='const char* a = getenv("A");\n')

    def test_a_step_of_the_tour_whose_function_is_gone(self):
        self.finds("last_row() is not in actors/data/column.hpp",
                   actors__README_md="| 1 | `actors/data/column.hpp` | `last_row` | One step. |\n")

    def test_a_format_without_a_table_of_forms(self):
        page = "# Data\n\n| format | read |\n| --- | --- |\n| CSV | commas |\n| IDX | bytes |\n\nMore.\n"
        self.finds("no test has a table of forms of IDX", **{
            "tools/manual/data-files.md": page, "tests/contract_a_test.cpp": 'const table_of csv{"CSV", {}};\n'})
        self.finds("says nothing of Avro", **{
            "tools/manual/data-files.md": page,
            "tests/contract_a_test.cpp": "".join(f'const table_of a{{"{name}", {{}}}};\n' for name in ("CSV", "IDX", "Avro"))})

    def test_a_merge_left_half_done(self):
        self.finds("a merge left half done", kernels__README_md=SOUND["kernels/README.md"] + "\n>>>>>>> theirs\n")


if __name__ == "__main__":
    unittest.main()
