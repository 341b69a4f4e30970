-- SPDX-License-Identifier: MIT
-- Tables, closures, strings and floating point, as often as the argument says.
local rounds = tonumber(arg[1])
local total = 0
for round = 1, rounds do
	local composite, primes = {}, {}
	for i = 2, 400 do
		if not composite[i] then
			primes[#primes + 1] = i
			for j = i * i, 400, i do composite[j] = true end
		end
	end
	local words = {}
	for _, p in ipairs(primes) do words[#words + 1] = string.format("%x", p * round) end
	table.sort(words, function(a, b) return a > b end)
	local joined = table.concat(words, ","):gsub("[a-f]", string.upper)
	for i = 1, #joined do total = (total * 31 + joined:byte(i)) % 1000000007 end
	local x = 0.5
	for _ = 1, 200 do x = 3.7 * x * (1 - x) end
	total = total + math.floor(x * 1000)
end
print(rounds, total)
