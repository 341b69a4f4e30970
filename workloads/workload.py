# SPDX-License-Identifier: MIT
"""Reads suite.txt and debian.txt and turns (program, size, machine) into a command that can be run.

Used by workloads/run, bench/guest and the tests, so that all of them run the same things the same way:
in the folder of the inputs, with relative names and a fixed environment.
"""
import bz2
import json
import os
import pathlib
import re
import runpy
import shlex
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
HERE = ROOT / "workloads"
SIZES = ("quick", "test", "ref")
TOKEN = re.compile(r"@([a-z0-9]+):([0-9]+)|@([a-z]+\.[a-z]+)|@out")
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "HOME": "/home/guest", "LC_ALL": "C", "TZ": "UTC", "OMP_NUM_THREADS": "1",
               "MAGICK_THREAD_LIMIT": "1"}


class Missing(Exception):
    """Something that a program needs is not on this machine; the text says what."""


def sysroot_path():
    return pathlib.Path(os.environ.get("CULPRIT_SYSROOT", ROOT / "build" / "sysroot"))


def rows(path, columns):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) != columns:
            raise SystemExit("%s:%d: %d columns, wanted %d" % (path, number, len(cells), columns))
        yield cells


class Program:
    """One row of a manifest."""

    def __init__(self, name, source, classes, binary, arguments, packages=""):
        self.name = name
        self.source = source  # "suite", "small" or "all": which set it belongs to
        self.classes = classes.split()
        self.binary = binary
        self.arguments = arguments  # by size
        self.packages = packages.split()

    def sizes(self):
        return [size for size in SIZES if size in self.arguments]


def load():
    """All programs of both manifests, by name."""
    programs = []
    for name, binary, classes, *arguments in rows(HERE / "suite.txt", 6):
        programs.append(Program(name, "suite", classes, binary, dict(zip(SIZES, arguments))))
    for name, group, packages, classes, binary, test, ref in rows(HERE / "debian.txt", 7):
        programs.append(Program(name, group, classes, binary, {"test": test, "ref": ref}, packages))
    names = [p.name for p in programs]
    twice = {n for n in names if names.count(n) > 1}
    if twice:
        raise SystemExit("workloads: named twice: " + " ".join(sorted(twice)))
    return {p.name: p for p in programs}


def fetch(group):
    """Makes sure that the sysroot holds a set ("small" or "all"); raises Missing with the reason."""
    done = subprocess.run([ROOT / "scripts" / "debian-sysroot", group], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True)
    if done.returncode == 77:
        raise Missing(done.stderr.strip())
    if done.returncode:
        raise SystemExit(done.stderr.strip())


def write_whole(path, data):
    """Writes a file that appears complete or not at all, even if two runs prepare it at once."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=path.name, delete=False) as out:
        out.write(data)
    os.chmod(out.name, 0o644)
    os.replace(out.name, path)


class Runner:
    """Runs programs on the machines "culprit" and "qemu" (or any command) out of one build folder."""

    def __init__(self, build, culprit=None):
        self.culprit = pathlib.Path(culprit or pathlib.Path(build) / "src" / "culprit").resolve()
        self.build = pathlib.Path(build).resolve()
        self.inputs = self.build / "inputs"
        self.inputs.mkdir(parents=True, exist_ok=True)
        self.environment = dict(ENVIRONMENT)
        # qemu 7.2 does not look up access() in the sysroot, so ImageMagick must be told where its coders are.
        for coders in sysroot_path().glob("usr/lib/*/ImageMagick-*/modules-*/coders"):
            self.environment["MAGICK_CODER_MODULE_PATH"] = str(coders)
        self.generate = runpy.run_path(str(HERE / "make-input"))["make"]

    def names(self, kind):
        """The names that `culprit list KIND` has, in its order."""
        rows = subprocess.run([str(self.culprit), "list", kind, "--json"], check=True, capture_output=True).stdout
        return [row["name"] for row in json.loads(rows)]

    def input(self, kind, size):
        """The name, in the inputs folder, of a generated file."""
        path = self.inputs / ("%s-%d" % (kind, size) if kind != "c" else "source-%d.c" % size)
        newest = (HERE / "make-input").stat().st_mtime
        if not path.exists() or path.stat().st_mtime < newest:
            data = bz2.compress(self.generate("text", size)) if kind == "bz2" else self.generate(kind, size)
            write_whole(path, data)
        return path.name

    def script(self, name):
        path, source = self.inputs / name, HERE / "inputs" / name
        if not path.exists() or path.stat().st_mtime < source.stat().st_mtime:
            write_whole(path, source.read_bytes())
        return name

    def musl(self, name):
        """workloads/NAME.c against the sysroot's musl, as a dynamic executable."""
        sysroot, source = sysroot_path(), HERE / (name + ".c")
        path = self.inputs / (name + ".musl")
        lib = sysroot / "usr/lib/riscv64-linux-musl"
        if not path.exists() or path.stat().st_mtime < source.stat().st_mtime:
            scratch = str(path) + ".%d" % os.getpid()
            subprocess.run(
                ["riscv64-linux-gnu-gcc", "-std=gnu17", "-O2", "-g", "-nostdinc", "-nostdlib", "-no-pie",
                 "-isystem", sysroot / "usr/include/riscv64-linux-musl", "-I", ROOT / "include",
                 HERE / "inputs/musl_start.c", source, lib / "libc.so", "-lgcc",
                 "-Wl,-dynamic-linker,/lib/ld-musl-riscv64.so.1", "-o", scratch], check=True)
            os.replace(scratch, path)
        return path

    def binary(self, program, level=""):
        """Path of the executable; `level` is ".O0" or ".O3" for the suite's other builds."""
        if program.source == "suite":
            path = self.build / "workloads" / (program.binary + level)
            if not path.exists():
                raise Missing("%s is not built: ninja -C %s workloads" % (path, self.build))
            return path
        fetch("small" if program.source == "small" else "all")
        if program.binary.startswith("musl:"):
            return self.musl(program.binary[5:])
        return sysroot_path() / program.binary

    def command(self, program, size, level=""):
        """(executable and arguments, file that is the output or None); inputs are made on the way."""
        out = None

        def replace(match):
            nonlocal out
            if match.group(1):
                return self.input(match.group(1), int(match.group(2)))
            if match.group(3):
                return self.script(match.group(3))
            out = "out-%s-%d" % (program.name, os.getpid())
            return out

        words = [TOKEN.sub(replace, word) for word in shlex.split(program.arguments[size])]
        return [str(self.binary(program, level))] + words, out

    def machine(self, name, options=()):
        """The command prefix of a machine: "culprit" (with further options), "qemu", or a command line of
        its own, in which {sysroot} stands for the sysroot."""
        if name == "qemu":
            return ["qemu-riscv64", "-L", str(sysroot_path())]
        if name == "culprit":
            words = [str(self.culprit), "sim", "--functional", *options]
            if sysroot_path().is_dir():
                words += ["--sysroot", str(sysroot_path())]
            # culprit passes nothing of the host's environment to the guest: name each variable.
            for variable in self.environment.items():
                words += ["--env", "%s=%s" % variable]
            return words + ["--"]
        return [word.replace("{sysroot}", str(sysroot_path())) for word in shlex.split(name)]

    def run(self, program, size, machine, level="", timeout=None, options=()):
        """Runs to the end; returns (exit status, output bytes, error text), the status as a shell has it:
        128 + n for signal n."""
        argv, out = self.command(program, size, level)
        done = subprocess.run(self.machine(machine, options) + argv, cwd=self.inputs, env=self.environment,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout)
        output = done.stdout
        if out:
            path = self.inputs / out
            output = path.read_bytes() if path.exists() else b""
            path.unlink(missing_ok=True)
        status = done.returncode if done.returncode >= 0 else 128 - done.returncode
        return status, output, done.stderr.decode(errors="replace")
