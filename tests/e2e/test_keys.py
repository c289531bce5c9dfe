"""The keys of a cluster: what each lets its holder do, files that are wrong, and new ones while nodes run."""

import json
import os
import pathlib
import shutil
import signal
import unittest

from support import TroupeTest, main

MEMBER, RUN, OBSERVE = "member 5f3a9c1e77d04b82\n", "run 0c4d8e2f6a9b1357\n", "observe 99e8d7c6b5a43210\n"


class Keys(TroupeTest):
    def keys(self, text, name="cluster.key"):
        path = self.write(name, text)
        os.chmod(path, 0o600)
        return path

    def names(self, address, key):
        status = self.troupe("status", address, "--key", key, "--json")
        self.assertEqual(status.code, 0, str(status))
        return {n["name"] for n in json.loads(status.out)["nodes"]}

    # ---- roles ------------------------------------------------------------------------------------------------------

    def test_each_key_lets_its_holder_do_what_it_is_for(self):
        everything = self.keys(MEMBER + RUN + OBSERVE)
        runs, observers = self.keys(RUN + OBSERVE, "runs.key"), self.keys(OBSERVE, "observers.key")
        _, address = self.node("--key", everything)
        self.node("--join", address, "--key", everything, name="b")
        for key in (everything, runs, observers):
            self.assertEqual(self.names(address, key), {"a", "b"})
            inspect = self.troupe("inspect", address, "--key", key)
            self.assertEqual(inspect.code, 0, str(inspect))
        for key in (everything, runs):
            run = self.troupe("run", self.app(), "--set", "train.epochs=1", "--cluster", address, "--key", key, "--trace", "t.json")
            self.assertEqual(run.code, 0, str(run))

    def test_a_command_whose_file_has_no_key_for_it_says_so(self):
        observers = self.keys(OBSERVE, "observers.key")
        for command, people in ((["run", self.app()], "runs"), (["run", self.app(), "--cluster", "127.0.0.1:1"], "runs"),
                                (["node"], "nodes"), (["plan", self.app(), "--cluster", "127.0.0.1:1"], "runs")):
            with self.subTest(command=command):
                result = self.troupe(*command, "--key", observers)
                self.assert_one_line_error(result, 2, f"observers.key has no key for {people}", "a line '")
        runs = self.keys(RUN, "runs.key")
        for command, people in ((["status", "127.0.0.1:1"], "observers"), (["inspect", "127.0.0.1:1"], "observers"),
                                (["run", self.app(), "--trace", "t.json"], "observers"), (["run", self.app(), "--nodes", 2], "nodes")):
            with self.subTest(command=command):
                result = self.troupe(*command, "--key", runs)
                self.assert_one_line_error(result, 2, f"runs.key has no key for {people}", "a line '")

    def test_who_says_another_role_than_its_key_is_for_is_refused(self):
        node, address = self.node("--key", self.keys(MEMBER + RUN + OBSERVE))
        secret = OBSERVE.split()[1]
        for word, one, command in (("run", "a run", ["run", self.app(), "--cluster", address]),
                                   ("member", "a node", ["node", "--name", "b", "--join", address])):
            forged = self.keys(f"{word} {secret}\n", "forged.key")
            result = self.troupe(*command, "--key", forged)
            said = f"the key that was proven is for observers, and {one} needs one"
            self.assert_one_line_error(result, 3, address, said, f"'{word} KEY'")
            self.read_line(node, f"who calls itself .* is refused: {said}")
        self.assertEqual(self.names(address, "cluster.key"), {"a"})

    def test_a_key_that_the_node_does_not_hold_is_another_key(self):
        node, address = self.node("--key", self.keys(MEMBER + RUN))
        observers = self.keys(OBSERVE, "observers.key")
        for again in range(3):
            result = self.troupe("status", address, "--key", observers)
            self.assert_one_line_error(result, 3, address, "the keys differ", "needs a line 'observe KEY' of this side's file")
        node.terminate()
        log = node.communicate()[1]
        self.assertRegex(log, r"a connection from 127\.0\.0\.1 is refused: the keys differ; this side's file has 'member KEY', 'run KEY': what is for ")
        self.assertEqual(log.count("is refused"), 1, log)

    # ---- files ------------------------------------------------------------------------------------------------------

    def test_files_that_are_wrong_are_refused_in_one_line(self):
        for text, said in ((RUN + "observe short\n", "line 2: after the role comes a key of 16 to 4096 bytes"),
                           (RUN + "observe\n", "line 2: after the role"), ("run two words-0123456789ab\n", "line 1: after the role"),
                           ("observer 99e8d7c6b5a43210\n", "line 1: begins with none of the roles member, run and observe"),
                           (MEMBER + "boss 99e8d7c6b5a43210\n", "line 2: begins with none of the roles"),
                           (RUN + RUN, "line 2: holds a key that is in the file before"),
                           (RUN + RUN.replace("run", "observe"), "line 2: holds a key that is in the file before"),
                           ("", "must hold a key"), ("short\n", "must hold a key of 16 to 4096 bytes")):
            for command in (["node"], ["status", "127.0.0.1:1"]):
                with self.subTest(text=text, command=command):
                    result = self.troupe(*command, "--key", self.keys(text))
                    self.assert_one_line_error(result, 2, "cluster.key", said)
                    for line in text.split():
                        if len(line) >= 16:
                            self.assertNotIn(line, result.err)
        os.chmod(self.keys(MEMBER + RUN), 0o640)
        self.assert_one_line_error(self.troupe("node", "--key", "cluster.key"), 2, "can be read by others", "chmod 600")

    # ---- without --key ----------------------------------------------------------------------------------------------

    def home(self, user=0):
        home = self.folder / f"home-{user}"
        if not home.exists():
            home.mkdir(mode=0o700)
            os.chown(home, user, user)
        return home

    def node_at(self, home):
        process = self.start("node", "--listen", "127.0.0.1:0", env={**os.environ, "HOME": str(home)})
        return process.stdout.readline().split(" listens on ")[1].split(",")[0]

    def test_a_user_has_a_key_of_its_own_without_typing_anything(self):
        home = self.home(os.geteuid())
        address = self.node_at(home)
        path = home / ".cache/troupe/own.key"
        key = path.read_text()
        self.assertRegex(key, r"\A[0-9a-f]{64}\Z")
        self.assertEqual((path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777), (0o600, 0o700))
        self.assertEqual(os.listdir(path.parent), ["own.key"])
        for command in (["status", address], ["inspect", address], ["run", self.app(), "--set", "train.epochs=1", "--cluster", address]):
            result = self.troupe(*command, env={**os.environ, "HOME": str(home)})
            self.assertEqual(result.code, 0, str(result))
        self.assertEqual(path.read_text(), key)
        another = self.troupe("status", address, env={**os.environ, "HOME": str(self.home(os.geteuid()).parent)})
        self.assert_one_line_error(another, 3, address, "the keys differ", "as one user")

    def test_an_own_key_that_may_be_anothers_is_refused(self):
        home = self.home(os.geteuid())
        folder = home / ".cache/troupe"
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir(mode=0o700)
        folder.parent.mkdir()
        for make in (lambda: folder.mkdir() or folder.chmod(0o755), lambda: folder.symlink_to(elsewhere), lambda: folder.touch(0o600)):
            make()
            result = self.troupe("node", env={**os.environ, "HOME": str(home)})
            self.assert_one_line_error(result, 2, str(folder), "you alone may use", "--key FILE")
            if folder.is_symlink() or folder.is_file():
                folder.unlink()
            else:
                folder.rmdir()
        self.assertEqual(os.listdir(elsewhere), [])
        folder.mkdir(mode=0o700)
        (folder / "own.key").touch(0o644)
        self.assert_one_line_error(self.troupe("node", env={**os.environ, "HOME": str(home)}), 2, "own.key", "can be read by others")

    @unittest.skipIf(os.geteuid() != 0, "only root may become another user")
    def test_another_user_is_refused(self):
        os.chmod(self.folder, 0o755)
        address = self.node_at(self.home())
        stranger = {"user": 12345, "group": 12345, "extra_groups": []}
        shared = pathlib.Path("/tmp/troupe-12345")
        shutil.rmtree(shared, ignore_errors=True)
        self.addCleanup(shutil.rmtree, shared, ignore_errors=True)
        full = self.home(12345) / "full"
        full.mkdir(mode=0o700)
        (full / ".cache").touch()
        os.chown(full, 12345, 12345)
        for home in (self.home(12345), self.home(), full):  # in the last two there is no place: the key is below /tmp
            self.assertEqual(shared.exists(), home == full)
            result = self.troupe("status", address, env={**os.environ, "HOME": str(home)}, **stranger)
            self.assert_one_line_error(result, 3, address, "the keys differ", "as one user")
        self.assertEqual(os.listdir(shared), ["own.key"])
        self.assertTrue((self.home(12345) / ".cache/troupe/own.key").exists())
        shutil.rmtree(shared)
        shared.mkdir(mode=0o700)  # by somebody else, before
        result = self.troupe("status", address, env={**os.environ, "HOME": str(self.home())}, **stranger)
        self.assert_one_line_error(result, 2, str(shared), "you alone may use")

    # ---- while a node runs ------------------------------------------------------------------------------------------

    def test_a_hangup_makes_a_node_read_its_keys_again(self):
        key = self.keys(MEMBER + RUN + OBSERVE)
        old = self.keys(OBSERVE, "old.key")
        new = self.keys("observe 1122334455667788\n", "new.key")
        a, address = self.node("--key", key)
        b, _ = self.node("--join", address, "--key", key, name="b")
        self.read_line(a, "node b .* has joined")
        self.keys(MEMBER + RUN + "observe 1122334455667788\n")
        a.send_signal(signal.SIGHUP)
        self.read_line(a, "new connections use the keys that are in .*cluster.key now")
        self.assertEqual(self.names(address, new), {"a", "b"})  # b's connection stands
        self.assert_one_line_error(self.troupe("status", address, "--key", old), 3, "the keys differ")
        for text, said in (("observe short\n", "line 1: after the role"), (RUN, "has no key for nodes")):
            self.keys(text)
            a.send_signal(signal.SIGHUP)
            self.read_line(a, f"SIGHUP: the keys stay as they were: key file .*cluster.key,? {said}")
        os.remove(key)
        a.send_signal(signal.SIGHUP)
        self.read_line(a, "SIGHUP: the keys stay as they were: cannot open key file")
        self.assertEqual(self.names(address, new), {"a", "b"})
        self.assertEqual((a.poll(), b.poll()), (None, None))

    def test_a_hangup_ends_no_node(self):
        for options in ({}, {"preexec_fn": lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)}):
            for arguments in (["--quiet"], []):
                node = self.start("node", "--listen", "127.0.0.1:0", "--name", "a", *arguments, **options)
                address = node.stdout.readline().split(" listens on ")[1].split(",")[0]
                for _ in range(3):
                    node.send_signal(signal.SIGHUP)
                status = self.troupe("status", address)
                self.assertEqual(status.code, 0, str(status))
                node.send_signal(signal.SIGTERM)
                self.assertEqual(self.finish(node).code, 0)


if __name__ == "__main__":
    main()
