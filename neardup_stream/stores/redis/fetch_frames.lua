-- The frame tables of some sites, one a key. Returns one value or false for each.
local tables = {}
for i = 1, #KEYS do
  tables[i] = redis.call('GET', KEYS[i])
end
return tables
