{ for (k = 1, 12, E = ellinit([k, 3 * k + 1]); s = 0; forprime (p = 5, 400 + 40 * k, s += ellap(E, p)); print(k, " ", s)) }
{ print(factor(10^29 + 9)); print(polroots(x^9 - 5 * x^4 + x - 7)[1]); M = matrix(24, 24, i, j, (i * j + i) % 17); print(matdet(M)) }
quit
