-- Creates bot users with names that do not repeat.
local count = 0
local seed = os.time() .. "-" .. tostring({}):sub(8)
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
function request()
  count = count + 1
  return wrk.format(nil, nil, nil, '{"name":"bot ' .. seed .. '-' .. count .. '"}')
end
