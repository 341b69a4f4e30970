# SPDX-License-Identifier: MIT
# Objects, dictionaries, generators and big numbers, as often as the argument says.
import sys


class Account:
    def __init__(self, name, balance):
        self.name, self.balance, self.log = name, balance, []

    def move(self, amount, other):
        self.balance -= amount
        other.balance += amount
        self.log.append((other.name, amount))


def numbers(seed):
    while True:
        seed = (seed * 1103515245 + 12345) % 2**31
        yield seed


rounds = int(sys.argv[1])
source = numbers(42)
accounts = {"a%d" % i: Account("a%d" % i, 1000) for i in range(50)}
names = list(accounts)
for _ in range(rounds):
    giver, taker = (accounts[names[next(source) % 50]] for _ in range(2))
    giver.move(next(source) % 97, taker)
ranks = sorted(accounts.values(), key=lambda a: (-a.balance, a.name))
big = 1
for account in ranks:
    big = big * (abs(account.balance) + 3) + len(account.log)
print(rounds, ranks[0].name, ranks[0].balance, big % (2**89 - 1), len({t for a in ranks for t in a.log}))
