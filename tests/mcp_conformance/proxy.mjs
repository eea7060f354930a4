// Signs in at `agentx serve` as its operator, makes a session, and passes every request on with the token: the suite sends none.
//
// node proxy.mjs URL IDENTITY PORT
import { createPrivateKey, createPublicKey, sign } from "node:crypto";
import { readFileSync } from "node:fs";
import http from "node:http";

const [server, identity, port] = process.argv.slice(2);
const seed = Buffer.from(readFileSync(identity, "utf8").split("\n")[1], "base64");
// The key as RFC 8410 wraps it.
const wrapped = Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), seed]);
const key = createPrivateKey({ key: wrapped, format: "der", type: "pkcs8" });
const headers = { "content-type": "application/json" };
const ask = async (path, body) => {
  const sent = body ? { method: "POST", body: JSON.stringify(body) } : {};
  return (await fetch(server + path, { ...sent, headers })).json();
};

const { origin, nonce, expires_at_ms } = await ask("/v1/auth/challenge", {});
const words = `agentx.v1 challenge\n${origin}\n${nonce}\n${expires_at_ms}\n`;
const { token } = await ask("/v1/auth/token", {
  public_key: `ed25519:${createPublicKey(key).export({ format: "jwk" }).x}`,
  nonce,
  expires_at_ms,
  signature: sign(null, Buffer.from(words), key).toString("base64url"),
});
headers.authorization = `Bearer ${token}`;
await ask("/v1/sessions", { config: await ask("/v1/agent") });

const { hostname, port: to } = new URL(server);
http
  .createServer((request, response) => {
    const { method, url: path } = request;
    const wanted = { hostname, port: to, method, path, headers: { ...request.headers, authorization: headers.authorization } };
    const onward = http.request(wanted, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    onward.on("error", () => response.destroy());
    response.on("close", () => onward.destroy());
    request.pipe(onward);
  })
  .listen(Number(port), "127.0.0.1", () => console.log("ready"));
