-- What is added to answers on their way out: CORS, the cookie that ties a client, headers of one's own.
local requests = require "fairway.requests"

local _M = {}

local function allowed_origin(cors)
    local origin = ngx.var.http_origin
    if not origin then
        return nil
    end
    for _, pattern in ipairs(cors.origins or { "*" }) do
        if pattern == "*" then
            return cors.credentials == false and "*" or origin
        end
        if pattern == origin then
            return origin
        end
        local before, after = pattern:match("^(.-)%*(%..+)$")
        if before and origin:sub(1, #before) == before and #origin > #before + #after
            and origin:sub(-#after) == after then
            return origin
        end
    end
end

local METHODS = "GET, PUT, POST, DELETE, PATCH, OPTIONS"
local HEADERS = "DNT,Keep-Alive,User-Agent,X-Requested-With,If-Modified-Since,Cache-Control,Content-Type,Range,"
    .. "Authorization"

local function put_cors(cors)
    local origin = allowed_origin(cors)
    if not origin then
        return
    end
    ngx.header["Access-Control-Allow-Origin"] = origin
    if origin ~= "*" then
        ngx.header["Vary"] = "Origin"
    end
    if cors.credentials ~= false then
        ngx.header["Access-Control-Allow-Credentials"] = "true"
    end
    if cors.exposed then
        ngx.header["Access-Control-Expose-Headers"] = cors.exposed
    end
end

-- A browser's question whether it may ask is answered here.
function _M.preflight(cors)
    if ngx.req.get_method() ~= "OPTIONS" or not ngx.var.http_origin then
        return false
    end
    if allowed_origin(cors) then
        put_cors(cors)
        ngx.header["Access-Control-Allow-Methods"] = cors.methods or METHODS
        ngx.header["Access-Control-Allow-Headers"] = cors.headers or HEADERS
        ngx.header["Access-Control-Max-Age"] = tostring(cors.max_age or 1728000)
    end
    ngx.status = 204
    ngx.exit(204)
    return true
end

local function put_cookie(cookie, value)
    local parts = { (cookie.name or "INGRESSCOOKIE") .. "=" .. value, "Path=" .. (cookie.path or "/"), "HttpOnly" }
    if cookie.max_age then parts[#parts + 1] = "Max-Age=" .. cookie.max_age end
    if cookie.same_site then parts[#parts + 1] = "SameSite=" .. cookie.same_site end
    if cookie.secure or ngx.var.scheme == "https" then parts[#parts + 1] = "Secure" end
    local present = ngx.header["Set-Cookie"]
    local all = type(present) == "table" and present or { present }
    all[#all + 1] = table.concat(parts, "; ")
    ngx.header["Set-Cookie"] = all
end

function _M.headers()
    local request = requests.current()
    if not request then
        return
    end
    local route, options = request.route, request.options
    if options.cors and ngx.status ~= 204 then
        put_cors(options.cors)
    end
    if request.new_cookie and options.cookie then
        put_cookie(options.cookie, request.new_cookie)
    end
    for _, header in ipairs(route.headers or {}) do
        ngx.header[header[1]] = header[2]
    end
    if ngx.var.scheme == "https" and route.tls then
        ngx.header["Strict-Transport-Security"] = "max-age=31536000; includeSubDomains"
    end
end

return _M
