import { createHash } from "node:crypto";
import * as client from "openid-client";
import { HOUR_MS } from "../domain/durations.ts";

/** The OpenID provider that people may sign in with. */
export interface OidcSettings {
  /** Its documents lie under it: `/.well-known/openid-configuration`. */
  issuer: string;
  clientId: string;
  clientSecret: string;
  /** As people call it. */
  name: string;
}

/** Who signed in, as the provider says. */
export interface Claims {
  issuer: string;
  /** Its own name for the person, which never changes. */
  subject: string;
  email: string | null;
  /** Whether it has made sure that the address is the person's. */
  isVerified: boolean;
  name: string | null;
}

/** Why there are no claims: the provider is out of reach, the person did not go through with it, or what came back is not to be believed. */
export interface OidcFailure {
  trouble: "unreachable" | "denied" | "invalid";
  error: unknown;
}

export interface Oidc {
  name: string;
  /** Where to send the browser that keeps this token. */
  authorizationUrl(token: string): Promise<{ url: string } | OidcFailure>;
  /** Whether this address is one that the provider sent the browser with this token to. */
  isOfVisit(callback: URL, token: string): boolean;
  /** Who came back. */
  claims(callback: URL, token: string): Promise<Claims | OidcFailure>;
}

export const OIDC_CALLBACK = "/sign-in/oidc/callback";
const TIMEOUT_S = 10;
/** Clocks may differ by so much. */
const CLOCK_TOLERANCE_S = 30;
/** A provider that moved its end points is believed within this long. */
const DISCOVERY_CACHE_MS = HOUR_MS;

/**
 * Signing in by the authorization code flow with PKCE. State, nonce and verifier all follow from a token that only the browser
 * keeps: nothing that is stored, and nothing that stands in an address, lets anybody finish somebody else's sign-in.
 *
 * @param origin  of the console
 */
export function createOidc(settings: OidcSettings, origin: string, monotonicMs: () => number): Oidc {
  const redirectUri = origin + OIDC_CALLBACK;
  let known: { config: Promise<client.Configuration>; at: number } | null = null;

  function discovered(): Promise<client.Configuration> {
    if (known !== null && monotonicMs() - known.at < DISCOVERY_CACHE_MS) return known.config;
    const metadata = { [client.clockTolerance]: CLOCK_TOLERANCE_S };
    const config = client.discovery(new URL(settings.issuer), settings.clientId, metadata, clientAuth(settings), {
      timeout: TIMEOUT_S,
      // TLS says who answered; the signature, too, who made the token.
      execute: [client.enableNonRepudiationChecks],
    });
    const entry = { config, at: monotonicMs() };
    known = entry;
    config.catch(() => {
      if (known === entry) known = null; // the next one asks again
    });
    return config;
  }

  return {
    name: settings.name,
    async authorizationUrl(token) {
      try {
        const url = client.buildAuthorizationUrl(await discovered(), {
          redirect_uri: redirectUri,
          scope: "openid email profile",
          state: deriveFromToken(token, "state"),
          nonce: deriveFromToken(token, "nonce"),
          code_challenge: await client.calculatePKCECodeChallenge(deriveFromToken(token, "verifier")),
          code_challenge_method: "S256",
        });
        return { url: url.href };
      } catch (error) {
        return { trouble: classifyOidcError(error), error };
      }
    },
    isOfVisit: (callback, token) => callback.searchParams.get("state") === deriveFromToken(token, "state"),
    async claims(callback, token) {
      try {
        const config = await discovered();
        const tokens = await client.authorizationCodeGrant(config, new URL(redirectUri + callback.search), {
          expectedState: deriveFromToken(token, "state"),
          expectedNonce: deriveFromToken(token, "nonce"),
          pkceCodeVerifier: deriveFromToken(token, "verifier"),
        });
        const idToken = tokens.claims()!;
        // Many providers put the address only where the access token leads.
        const { email, email_verified, name } =
          typeof idToken.email === "string"
            ? idToken
            : await client.fetchUserInfo(config, tokens.access_token, idToken.sub);
        return {
          issuer: idToken.iss,
          subject: idToken.sub,
          email: typeof email === "string" ? email : null,
          isVerified: email_verified === true,
          name: typeof name === "string" ? name : null,
        };
      } catch (error) {
        return { trouble: classifyOidcError(error), error };
      }
    },
  };
}

const deriveFromToken = (token: string, use: string) =>
  createHash("sha256").update(`${use}\n${token}`).digest("base64url");

/** The secret goes as the provider wants it: by Basic, which each has to know, unless it says that it only reads forms. */
const clientAuth =
  ({ clientSecret }: OidcSettings): client.ClientAuth =>
  (server, ...rest) => {
    const methods = server.token_endpoint_auth_methods_supported;
    const byForm = methods?.includes("client_secret_post") && !methods.includes("client_secret_basic");
    const authenticate = byForm ? client.ClientSecretPost(clientSecret) : client.ClientSecretBasic(clientSecret);
    authenticate(server, ...rest);
  };

function classifyOidcError(error: unknown): OidcFailure["trouble"] {
  if (error instanceof client.AuthorizationResponseError) return "denied";
  const { code, cause } = error as { code?: string; cause?: unknown };
  const isSilent = code === "OAUTH_TIMEOUT" || code === "OAUTH_RESPONSE_IS_NOT_CONFORM";
  // fetch says of every failure of the network that it is a TypeError.
  return isSilent || (error instanceof TypeError && cause !== undefined) ? "unreachable" : "invalid";
}
