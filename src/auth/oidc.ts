import { createHash } from "node:crypto";
import * as client from "openid-client";
import { HOUR_MS } from "../domain/durations.ts";

export interface OidcSettings {
  /** The base URL of `/.well-known/openid-configuration`. */
  issuer: string;
  clientId: string;
  clientSecret: string;
  name: string;
}

/** What the provider reports about a person. */
export interface Claims {
  issuer: string;
  /** The provider's permanent id of the person. */
  subject: string;
  email: string | null;
  /** Whether the provider has verified the address. */
  isVerified: boolean;
  name: string | null;
}

/** The provider is unreachable, the person aborted, or the response could not be verified. */
export interface OidcFailure {
  trouble: "unreachable" | "denied" | "invalid";
  error: unknown;
}

export interface Oidc {
  name: string;
  /** Returns the URL to redirect the browser with this token to. */
  authorizationUrl(token: string): Promise<{ url: string } | OidcFailure>;
  /** Whether the callback belongs to the browser with this token. */
  matchesToken(callback: URL, token: string): boolean;
  claims(callback: URL, token: string): Promise<Claims | OidcFailure>;
}

export const OIDC_CALLBACK = "/sign-in/oidc/callback";
const TIMEOUT_S = 10;
const CLOCK_TOLERANCE_S = 30;
/** The provider's endpoints are cached for this long. */
const DISCOVERY_CACHE_MS = HOUR_MS;

/**
 * Implements the authorization code flow with PKCE. State, nonce and verifier are derived from a token that only the browser holds,
 * so that neither the database nor a URL allows anyone to complete another person's sign-in.
 *
 * @param origin  of the console
 */
export function createOidc(settings: OidcSettings, origin: string, monotonicMs: () => number): Oidc {
  const redirectUri = origin + OIDC_CALLBACK;
  let discovered: { config: Promise<client.Configuration>; at: number } | null = null;

  function discover(): Promise<client.Configuration> {
    if (discovered !== null && monotonicMs() - discovered.at < DISCOVERY_CACHE_MS) return discovered.config;
    const metadata = { [client.clockTolerance]: CLOCK_TOLERANCE_S };
    const config = client.discovery(new URL(settings.issuer), settings.clientId, metadata, clientAuth(settings), {
      timeout: TIMEOUT_S,
      // Verifies the signature of the id token, in addition to TLS.
      execute: [client.enableNonRepudiationChecks],
    });
    const entry = { config, at: monotonicMs() };
    discovered = entry;
    config.catch(() => {
      if (discovered === entry) discovered = null; // retry on the next call
    });
    return config;
  }

  return {
    name: settings.name,
    async authorizationUrl(token) {
      try {
        const url = client.buildAuthorizationUrl(await discover(), {
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
    matchesToken: (callback, token) => callback.searchParams.get("state") === deriveFromToken(token, "state"),
    async claims(callback, token) {
      try {
        const config = await discover();
        const tokens = await client.authorizationCodeGrant(config, new URL(redirectUri + callback.search), {
          expectedState: deriveFromToken(token, "state"),
          expectedNonce: deriveFromToken(token, "nonce"),
          pkceCodeVerifier: deriveFromToken(token, "verifier"),
        });
        const idToken = tokens.claims()!;
        // Many providers report the address only in the user info.
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

const deriveFromToken = (token: string, purpose: string) =>
  createHash("sha256").update(`${purpose}\n${token}`).digest("base64url");

/** Uses Basic, which every provider must support, unless it accepts only forms. */
const clientAuth =
  ({ clientSecret }: OidcSettings): client.ClientAuth =>
  (server, ...rest) => {
    const methods = server.token_endpoint_auth_methods_supported;
    const usesForm = methods?.includes("client_secret_post") && !methods.includes("client_secret_basic");
    const authenticate = usesForm ? client.ClientSecretPost(clientSecret) : client.ClientSecretBasic(clientSecret);
    authenticate(server, ...rest);
  };

function classifyOidcError(error: unknown): OidcFailure["trouble"] {
  if (error instanceof client.AuthorizationResponseError) return "denied";
  const { code, cause } = error as { code?: string; cause?: unknown };
  const isSilent = code === "OAUTH_TIMEOUT" || code === "OAUTH_RESPONSE_IS_NOT_CONFORM";
  // fetch reports network errors as a TypeError with a cause.
  return isSilent || (error instanceof TypeError && cause !== undefined) ? "unreachable" : "invalid";
}
