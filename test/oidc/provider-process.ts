// An OpenID provider in a separate process, because it needs its own clock. The login field holds the person's claims as a query,
// such as sub=7&email=ada%40example.com&email_verified=true.
import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { OidcProviderOptions, ProviderTimes } from "./identity-provider.ts";

const { tls, client, ...given }: OidcProviderOptions & { tls: { cert: string; key: string } } = JSON.parse(
  process.argv[2]!,
);
let times: ProviderTimes = given;
process.on("message", (changed: ProviderTimes) => {
  times = changed;
  process.send!("changed");
});
const realNow = Date.now;
Date.now = () => realNow() + times.clockOffMs;
const { Provider } = await import("oidc-provider");

const server = createServer(tls).listen(0, "127.0.0.1");
await once(server, "listening");
const issuer = `https://localhost:${(server.address() as AddressInfo).port}`;
const provider = new Provider(issuer, {
  clients: [
    {
      client_id: client.id,
      client_secret: client.secret,
      redirect_uris: [client.redirectUri],
      token_endpoint_auth_method: client.auth,
      subject_type: "pairwise",
    },
  ],
  clientAuthMethods: [client.auth],
  pkce: { required: () => true },
  claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"] },
  ttl: { IdToken: () => times.idTokenS, AccessToken: 600, Grant: 600, Interaction: 600, Session: 600 },
  cookies: { keys: ["of a test"] },
  // The same person can have other claims the next time.
  subjectTypes: ["pairwise"],
  pairwiseIdentifier: async (_context: unknown, login: string) => new URLSearchParams(login).get("sub"),
  findAccount: (_context: unknown, login: string) => ({
    accountId: login,
    claims: () => {
      const { email, email_verified, name } = Object.fromEntries(new URLSearchParams(login));
      return { sub: login, email, name, email_verified: email_verified === "true" };
    },
  }),
});
server.on("request", provider.callback());
process.send!(issuer);
