#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whole programs of Debian in the guest machine, against known answers. TAP.

    run.py CULPRIT SET [NAME...]

The sections of workloads/programs.txt that belong to SET (or those named), each run functionally by the guest's own
/bin/sh in an empty folder. scripts/debian-sysroot fetches the packages first ($CULPRIT_SYSROOT: where to). What
packages do when they are installed (maintainer scripts) is not done, but for what is listed in prepare().
"""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MANIFEST = ROOT / "workloads" / "programs.txt"
TIMEOUT_SECONDS = int(os.environ.get("PROGRAM_TIMEOUT", "600"))


class Section:
    def __init__(self, head, body):
        self.name, self.set, self.packages, self.language = (cell.strip() for cell in head.split("|"))
        self.script, self.answer = body.split("\n--\n", 1)
        self.answer = self.answer.rstrip("\n")


def load():
    text = MANIFEST.read_text()
    parts = re.split(r"^== (.*)\n", text, flags=re.M)[1:]
    return [Section(head, body) for head, body in zip(parts[::2], parts[1::2])]


def copy_if_absent(source, target):
    if source.exists() and not target.exists():
        shutil.copy(source, target)


def prepare(culprit, sysroot):
    """What the installation of the packages would have made: the links of the alternatives system, an /etc/passwd,
    and indexes, which the programs make themselves."""
    library = "usr/lib/riscv64-linux-gnu"
    links = {
        "usr/bin/awk": "gawk", "usr/bin/vim": "vim.basic", "usr/bin/emacs": "emacs-nox", "usr/bin/php": "php8.4",
        "usr/bin/guile": "../lib/riscv64-linux-gnu/guile/3.0/bin/guile", "usr/bin/pike8.0": "pike",
        f"{library}/liblapack.so.3": "lapack/liblapack.so.3", f"{library}/libblas.so.3": "blas/libblas.so.3",
    }
    for tool in sysroot.glob("usr/lib/jvm/java-21-openjdk-riscv64/bin/*"):
        links[f"usr/bin/{tool.name}"] = f"../lib/jvm/java-21-openjdk-riscv64/bin/{tool.name}"
    for link, target in links.items():
        path = sysroot / link
        if (path.parent / target).exists() and not path.is_symlink() and not path.exists():
            path.symlink_to(target)
    for name, text in {
        "etc/passwd": "root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000:user:/root:/bin/sh\n",
        "etc/group": "root:x:0:\nuser:x:1000:\n",
        "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    }.items():
        path = sysroot / name
        if not path.exists():
            path.write_text(text)
    copy_if_absent(sysroot / "usr/lib/R/etc/Renviron.ucf", sysroot / "etc/R/Renviron")
    # Some programs need an index of a folder and write it themselves: in a copy, as a guest cannot write to the
    # sysroot.
    for folder, made, needs, command in (
        (f"{library}/graphviz", "config6a", "usr/bin/dot", "GVBINDIR=$PWD dot -c"),
        ("usr/lib/swi-prolog/library", "INDEX.pl", "usr/bin/swipl",
         "swipl -g \"make_library_index('.')\" -t halt"),
    ):
        if not (sysroot / needs).exists() or (sysroot / folder / made).exists():
            continue
        with tempfile.TemporaryDirectory() as copy:
            for file in (sysroot / folder).iterdir():
                if file.is_file():
                    shutil.copy(file, copy)
            subprocess.run([culprit, "sim", "--functional", "--sysroot", str(sysroot), "--", "/bin/sh", "-c", command],
                           cwd=copy, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            copy_if_absent(pathlib.Path(copy, made), sysroot / folder / made)


def run(culprit, sysroot, section):
    """None if the answer is right, or what is wrong with it."""
    with tempfile.TemporaryDirectory() as folder:
        out, err = pathlib.Path(folder, "out"), pathlib.Path(folder, "err")
        work = pathlib.Path(folder, "work")
        work.mkdir()
        command = [culprit, "sim", "--functional", "--sysroot", str(sysroot), "--", "/bin/sh", "-c", section.script]
        with open(out, "wb") as stdout, open(err, "wb") as stderr:
            process = subprocess.Popen(command, cwd=work, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr,
                                       start_new_session=True)
            try:
                status = process.wait(TIMEOUT_SECONDS)
            except subprocess.TimeoutExpired:
                status = f"none after {TIMEOUT_SECONDS} s"
            # Also end the servers that the script has left behind.
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
        got = out.read_bytes().decode("utf-8", "replace").rstrip("\n")
        said = err.read_bytes().decode("utf-8", "replace")
    unknown = sorted(set(re.findall(r"system call \d+ \(\w+\) is not there", said)))
    if got == section.answer and not unknown:
        return None
    lines = [f"status {status}, output:"] + got.splitlines()[-8:] + ["standard error:"] + said.splitlines()[-12:]
    return "\n".join(lines + (unknown if got == section.answer else []))


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    culprit, wanted, names = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3:]
    sections = [s for s in load() if s.set == wanted and (not names or s.name in names)]
    if not sections:
        sys.exit(f"{MANIFEST} has no set '{wanted}'")
    fetched = subprocess.run([ROOT / "scripts" / "debian-sysroot", wanted], stdout=subprocess.PIPE, text=True)
    if fetched.returncode == 77:
        print("1..0 # SKIP no Debian mirror")
        return 0
    if fetched.returncode:
        return 1
    sysroot = pathlib.Path(fetched.stdout.strip())
    prepare(culprit, sysroot)
    print(f"1..{len(sections)}", flush=True)
    failed = 0
    for number, section in enumerate(sections, 1):
        begin = time.monotonic()
        wrong = run(culprit, sysroot, section)
        failed += wrong is not None
        print(f"{'not ok' if wrong else 'ok'} {number} - {section.name} ({section.language}, "
              f"{time.monotonic() - begin:.1f} s)", flush=True)
        if wrong:
            print("\n".join("# " + line for line in wrong.splitlines()), flush=True)
    print(f"# {len(sections) - failed} of {len(sections)} right", flush=True)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
