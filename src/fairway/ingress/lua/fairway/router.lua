-- Which route a request takes, and everything that happens before it is sent on: redirects, who may pass,
-- how much, canaries, rewriting.
local state = require "fairway.state"
local addresses = require "fairway.addresses"
local rates = require "fairway.rates"
local answers = require "fairway.answers"

local re_match = ngx.re.match
local sub, byte, find = string.sub, string.byte, string.find

local _M = {}

-- nginx has it in small letters already.
local function bare_host(var)
    local host = var.host or ""
    if byte(host, #host) == 46 then
        host = sub(host, 1, -2)
    end
    return host
end

-- Prefixes match element by element: /foo is for /foo and /foo/bar, not for /foobar.
local function has_prefix(path, prefix)
    local length = #prefix
    if byte(prefix, length) == 47 then
        length = length - 1
        prefix = sub(prefix, 1, length)
    end
    if length == 0 then
        return true
    end
    if sub(path, 1, length) ~= prefix then
        return false
    end
    local after = byte(path, length + 1)
    return after == nil or after == 47
end

local function among(routes, path)
    for index = 1, #routes do
        local route = routes[index]
        if route.type == "exact" then
            if path == route.path then
                return route
            end
        elseif route.type == "prefix" then
            if has_prefix(path, route.path) then
                return route
            end
        else
            local captures = re_match(path, "^" .. route.path, "ijo")
            if captures then
                return route, captures
            end
        end
    end
end

function _M.find(host, path, version)
    local found = state.get("host:" .. host, version)
    if not found then
        local dot = find(host, ".", 1, true)
        found = dot and state.get("host:*" .. sub(host, dot), version)
    end
    found = found or state.get("host:", version)
    if found then
        local route, captures = among(found.routes or {}, path)
        if route then
            return route, captures
        end
    end
    return state.get("fallback", version)
end

local function refuse(status)
    ngx.status = status
    return ngx.exit(status)
end

local function external_port(port, scheme)
    if (scheme == "https" and port == "443") or (scheme == "http" and port == "80") then
        return ""
    end
    return ":" .. port
end

local function redirect_to_tls(route, options)
    if ngx.var.scheme == "https" or ngx.var.http_x_forwarded_proto == "https" then
        return
    end
    if options.force_ssl_redirect or (route.tls and options.ssl_redirect ~= false) then
        return ngx.redirect("https://" .. ngx.var.host .. ngx.var.request_uri, 308)
    end
end

local function redirects(route, options, path)
    if route.tls or options.force_ssl_redirect then
        redirect_to_tls(route, options)
    end
    if options.redirect then
        return ngx.redirect(options.redirect, options.redirect_code or 301)
    end
    if options.app_root and path == "/" then
        return ngx.redirect(options.app_root, 302)
    end
end

local function admit(route, options)
    if not (options.denied or options.allowed or options.rate or route.auth_file) then
        return
    end
    local client = ngx.var.remote_addr
    if options.denied and addresses.among(client, options.denied) then
        return refuse(403)
    end
    if options.allowed and not addresses.among(client, options.allowed) then
        return refuse(403)
    end
    if options.rate and not rates.allow(route.ingress .. "|" .. client, options.rate, options.burst) then
        return refuse(503)
    end
    if route.auth_file then
        ngx.var.fairway_realm = options.auth_realm or "Authentication Required"
        ngx.var.fairway_passwords = ngx.config.prefix() .. "passwords/" .. route.auth_file
    end
end

-- 0 means no limit; a body of unknown length is read first.
local function limit_body(options)
    local most = options.body_bytes or 1048576
    if most == 0 then
        return
    end
    local length = tonumber(ngx.var.content_length)
    if not length and ngx.var.http_transfer_encoding then
        ngx.req.read_body()
        local data, path = ngx.req.get_body_data(), ngx.req.get_body_file()
        if data then
            length = #data
        elseif path then
            local file = io.open(path, "rb")
            length = file and file:seek("end") or 0
            if file then file:close() end
        end
    end
    if length and length > most then
        return refuse(413)
    end
end

local function is_chosen(canary)
    if canary.header then
        local value = ngx.req.get_headers()[canary.header]
        if type(value) == "table" then value = value[1] end
        if value then
            if canary.header_value then
                if value == canary.header_value then return true end
            elseif canary.header_pattern then
                if re_match(value, canary.header_pattern, "jo") then return true end
            elseif value == "always" then
                return true
            elseif value == "never" then
                return false
            end
        end
    end
    if canary.cookie then
        local value = ngx.var["cookie_" .. canary.cookie]
        if value == "always" then return true end
        if value == "never" then return false end
    end
    return canary.weight and math.random() * (canary.weight_total or 100) < canary.weight
end

local function backend_of(route)
    if route.alternatives then
        for _, alternative in ipairs(route.alternatives) do
            if is_chosen(alternative.canary) then
                return alternative.backend
            end
        end
    end
    return route.backend
end

-- $1, $2… in the target stand for what the groups of the path's expression have matched.
-- (Functions that make functions are never compiled, nor is what calls them: so this one stands apart.)
local function rewrite(options, captures)
    local target = ngx.re.gsub(options.rewrite_target, [[\$(\d)]], function(group)
        return captures and captures[tonumber(group[1])] or ""
    end, "jo")
    if sub(target, 1, 1) ~= "/" then
        target = "/" .. target
    end
    if not pcall(ngx.req.set_uri, target) then
        return refuse(400)
    end
end

local function send_to(ctx, route, options, captures, version)
    local name = backend_of(route)
    local backend = state.get("backend:" .. name, version)
    ctx.name = name
    ngx.var.fairway_backend = name
    if not backend or #backend.endpoints == 0 then
        return refuse(503)
    end
    ctx.backend, ctx.options = backend, options
    if options.upstream_host then
        ngx.var.fairway_host = options.upstream_host
    end
    if options.rewrite_target then
        rewrite(options, captures)
    end
end

local locations = { HTTPS = "@https", GRPC = "@grpc", GRPCS = "@grpc" }
local nothing = {}

function _M.route()
    local var, ctx, version = ngx.var, ngx.ctx, state.version()
    local path = var.uri
    local route, captures = _M.find(bare_host(var), path, version)
    if not route then
        return refuse(404)
    end
    local options = route.options or nothing
    var.fairway_ingress = route.ingress
    ctx.route = route
    if options.cors and answers.preflight(options.cors) then
        return
    end
    redirects(route, options, path)
    admit(route, options)
    limit_body(options)
    local location = locations[options.protocol]
    if location then
        var.fairway_scheme = options.protocol == "GRPCS" and "grpcs" or "grpc"
        return ngx.exec(location)
    end
    send_to(ctx, route, options, captures, version)
end

-- After the jump to another location everything kept beside the request is gone; all checks were made before.
function _M.again()
    local version = state.version()
    local route, captures = _M.find(bare_host(ngx.var), ngx.var.uri, version)
    if not route then
        return refuse(404)
    end
    ngx.ctx.route = route
    send_to(ngx.ctx, route, route.options or nothing, captures, version)
end

return _M
