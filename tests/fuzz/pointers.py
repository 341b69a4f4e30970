#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Bad pointers in system calls: what this machine's Linux answers, and what the guest gets.

    pointers.py CULPRIT HOST_PROGRAM GUEST_PROGRAM

Where Linux returns EFAULT the guest must get it, too, and a call succeeds in the guest if and only if it does there.
A call that fails for two reasons may return either error: the order of checks differs between versions of Linux.
"""
import os
import subprocess
import sys
import tempfile


def answers(command):
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60,
                             stdin=subprocess.DEVNULL)
    if run.returncode:
        sys.exit(f'{command[0]}: status {run.returncode}: {run.stderr.strip()}')
    return [line.rsplit(': ', 1) for line in run.stdout.splitlines()]


def main():
    culprit, host, guest = map(os.path.abspath, sys.argv[1:])
    linux = answers([host])
    ours = answers([culprit, 'sim', '--functional', '--', guest])
    wrong = 0

    if [call for call, _ in linux] != [call for call, _ in ours]:
        sys.exit('the two programs did not make the same calls')
    for (call, theirs), (_, got) in zip(linux, ours):
        # EPERM and ENOSYS may come from a sandbox around this machine and say nothing about Linux.
        if got != theirs and (theirs == 'EFAULT' or 'succeeds' in (theirs, got)) and theirs not in ('EPERM', 'ENOSYS'):
            print(f'{call}: {theirs} in Linux, {got} here')
            wrong += 1
    print(f'{len(linux)} calls with a bad pointer, {wrong} answered otherwise than Linux does')
    return wrong > 0


sys.exit(main())
