-- Sets so many keys of the cache, chosen at random of 40,000, to 320 digits each: redis-cli --eval fill.lua , COUNT
local now = redis.call('TIME')
math.randomseed(now[1] * 1000 + now[2] % 1000)
for _ = 1, ARGV[1] do
  local value = {}
  for part = 1, 8 do value[part] = redis.sha1hex(tostring(math.random())) end
  redis.call('SET', 'seen:' .. math.random(40000), table.concat(value))
end
