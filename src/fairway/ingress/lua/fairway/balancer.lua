-- Which endpoint a request goes to. Called once for every try.
local balancer = require "ngx.balancer"
local requests = require "fairway.requests"

local crc32 = ngx.crc32_long
local _M = {}

-- What this worker knows of endpoints, by "address:port".
local turns = {}
local active = {}
local speed = {}
local failures = {}
-- How many endpoints are in `failures`.
local failing = 0

local FAILURES = 3
local SECONDS_OUT = 10

local function is_out(name, now)
    local failed = failures[name]
    return failed and failed.count >= FAILURES and now - failed.last < SECONDS_OUT
end

-- Those that have not been tried for this request and have not just failed; if there is none, all.
local function usable(endpoints, tried)
    if failing == 0 and not tried then
        return endpoints
    end
    tried = tried or {}
    local now, good, rest = ngx.now(), {}, {}
    for _, endpoint in ipairs(endpoints) do
        local name = endpoint.name
        if not tried[name] then
            rest[#rest + 1] = endpoint
            if not is_out(name, now) then
                good[#good + 1] = endpoint
            end
        end
    end
    if #good > 0 then return good end
    if #rest > 0 then return rest end
    return endpoints
end

local function next_in_turn(name, endpoints)
    local turn = (turns[name] or math.random(0, 1048575)) + 1
    turns[name] = turn
    return endpoints[turn % #endpoints + 1]
end

local function least(endpoints, measure)
    local start = math.random(#endpoints)
    local best, best_value
    for offset = 0, #endpoints - 1 do
        local endpoint = endpoints[(start + offset - 1) % #endpoints + 1]
        local value = measure(endpoint.name)
        if not best or value < best_value then
            best, best_value = endpoint, value
        end
    end
    return best
end

local function busy(name)
    return active[name] or 0
end

local function slow(name)
    return (speed[name] or 0) * ((active[name] or 0) + 1)
end

-- The endpoint with the highest score for this key: one that goes takes only its own keys along.
local function by_key(endpoints, key)
    local best, best_score
    for _, endpoint in ipairs(endpoints) do
        local score = crc32(key .. "|" .. endpoint.name)
        if not best or score > best_score then
            best, best_score = endpoint, score
        end
    end
    return best
end

local function key_of(what)
    if what == "ip" then return ngx.var.remote_addr end
    if what == "uri" then return ngx.var.request_uri end
    if what == "host" then return ngx.var.host end
    local kind, name = what:match("^(%a+):(.+)$")
    return ngx.var[kind .. "_" .. name] or ""
end

local function tied(options, endpoints)
    local value = ngx.var["cookie_" .. (options.cookie.name or "INGRESSCOOKIE")]
    if value then
        for _, endpoint in ipairs(endpoints) do
            if ngx.md5(endpoint.name) == value then
                return endpoint
            end
        end
    end
end

local function pick(request, options, endpoints)
    if options.cookie then
        local known = tied(options, endpoints)
        if known then return known end
        local chosen = next_in_turn(request.name, endpoints)
        request.new_cookie = ngx.md5(chosen.name)
        return chosen
    end
    if options.hash_by then
        return by_key(endpoints, key_of(options.hash_by))
    end
    if options.balance == "least_conn" then
        return least(endpoints, busy)
    end
    if options.balance == "ewma" then
        return least(endpoints, slow)
    end
    return next_in_turn(request.name, endpoints)
end

local function note_failure(last)
    if not balancer.get_last_failure() then
        return
    end
    local known = failures[last]
    if not known then
        known, failing = { count = 0 }, failing + 1
    end
    known.count, known.last = known.count + 1, ngx.now()
    failures[last] = known
end

function _M.choose()
    local request = requests.current()
    local options, endpoints = request.options, request.backend.endpoints
    local last = request.endpoint
    if last then
        note_failure(last)
        _M.finished(request)
        request.tried = request.tried or {}
        request.tried[last] = true
    else
        local tries = options.tries or 3
        tries = tries == 0 and #endpoints or math.min(tries, #endpoints)
        if tries > 1 then
            balancer.set_more_tries(tries - 1)
        end
    end
    local chosen = pick(request, options, usable(endpoints, request.tried))
    local name = chosen.name
    request.endpoint = name
    active[name] = (active[name] or 0) + 1
    if options.connect_seconds or options.send_seconds or options.read_seconds then
        balancer.set_timeouts(options.connect_seconds, options.send_seconds, options.read_seconds)
    end
    local done, problem = balancer.set_current_peer(chosen[1], chosen[2])
    if not done then
        ngx.log(ngx.ERR, "can't use endpoint ", name, ": ", problem)
    end
end

-- A try is over.
function _M.finished(request)
    local name = request.endpoint
    if name then
        active[name] = math.max(0, (active[name] or 1) - 1)
        request.endpoint = false
    end
end

-- How long answers of an endpoint take, the latest counting most.
local function note_speed(name)
    local seconds = tonumber(ngx.var.upstream_response_time)
    if seconds then
        local known = speed[name]
        speed[name] = known and known * 0.9 + seconds * 0.1 or seconds
    end
end

-- The request is over.
function _M.done(request, failed)
    local name = request.endpoint
    _M.finished(request)
    if failing > 0 and not failed and failures[name] then
        failures[name], failing = nil, failing - 1
    end
    if request.options.balance == "ewma" then
        note_speed(name)
    end
end

return _M
