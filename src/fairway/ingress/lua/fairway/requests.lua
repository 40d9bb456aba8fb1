-- What the phases of a request tell one another, by the request's address in memory. `ngx.ctx` is for the same,
-- but it leaves a table to be collected after every request, which costs more than to find a route.
local ffi = require "ffi"
local base = require "resty.core.base"

local get_request, cast, tonumber = base.get_request, ffi.cast, tonumber
local address = ffi.typeof("uintptr_t")
local known = {}
-- Those of requests that are over, to be used again.
local spare, spares = {}, 0
local _M = {}

-- With room for all there will ever be: a table that grows is slow.
local function new()
    return {
        route = false, options = false, name = false, backend = false,
        endpoint = false, tried = false, new_cookie = false,
    }
end

local function take()
    if spares == 0 then
        return new()
    end
    spares = spares - 1
    return spare[spares + 1]
end

function _M.begin(route, name, backend)
    local key = tonumber(cast(address, get_request()))
    local request = known[key] or take()
    request.route, request.options, request.name, request.backend = route, route.options, name, backend
    request.endpoint, request.tried, request.new_cookie = false, false, false
    known[key] = request
end

-- Nothing, if the request has no route.
function _M.current()
    return known[tonumber(cast(address, get_request()))]
end

-- To be called by the last phase, for the address will be another request's. What it gives holds until then.
function _M.finish()
    local key = tonumber(cast(address, get_request()))
    local request = known[key]
    if request then
        known[key] = nil
        spares = spares + 1
        spare[spares] = request
    end
    return request
end

return _M
