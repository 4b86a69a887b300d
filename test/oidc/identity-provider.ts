import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setDefaultCACertificates } from "node:tls";
import { createSelfSignedCertificate } from "../self-signed-certificate.ts";

export interface ProviderTimes {
  /** How far its clock is ahead of ours. */
  clockOffMs: number;
  /** Lifetime of its ID tokens. */
  idTokenS: number;
}

export interface OidcProviderOptions extends ProviderTimes {
  client: { id: string; secret: string; redirectUri: string; auth: "client_secret_basic" | "client_secret_post" };
}

const CLIENT = { id: "dunlin", secret: "s3cret: of a /client", auth: "client_secret_basic" } as const;

export const USUAL_TIMES: ProviderTimes = { clockOffMs: 0, idTokenS: 600 };

/** Starts an OpenID provider over HTTPS on loopback, which this process trusts. */
export async function startOidcProvider(redirectUri: string, over: Partial<OidcProviderOptions> = {}) {
  const tls = await createSelfSignedCertificate();
  setDefaultCACertificates([tls.cert]);
  const options = { tls, client: { ...CLIENT, redirectUri }, ...USUAL_TIMES, ...over };
  const child = fork(join(import.meta.dirname, "provider-process.ts"), [JSON.stringify(options)], {
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
  const [issuer] = (await once(child, "message")) as [string];
  return {
    issuer,
    async setTimes(times: ProviderTimes) {
      child.send(times);
      await once(child, "message");
    },
    stop: () => stopProvider(child),
  };
}

async function stopProvider(child: ChildProcess) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill();
  await once(child, "exit");
}

/**
 * Acts as a browser at the provider: follows redirects, logs in, and agrees.
 *
 * @param login  see provider-process.ts; null: the person cancels
 * @returns the provider's final redirect, an address of the client
 */
export async function completeSignIn(authorizationUrl: string, login: Record<string, string> | null): Promise<URL> {
  const { origin } = new URL(authorizationUrl);
  const cookies = new Map<string, string>();
  let url = new URL(authorizationUrl);
  let form: Record<string, string> | null = null;
  for (let steps = 0; steps < 20; steps++) {
    const response: Response = await fetch(url, {
      redirect: "manual",
      headers: { cookie: [...cookies].map((pair) => pair.join("=")).join("; ") },
      ...(form && { method: "POST", body: new URLSearchParams(form) }),
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie)!;
      if (value === "") cookies.delete(name!);
      else cookies.set(name!, value!);
    }
    const location = response.headers.get("location");
    if (location !== null) {
      url = new URL(location, url);
      form = null;
      if (url.origin !== origin) return url;
      continue;
    }
    const page = await response.text();
    const prompt = /name="prompt" value="(\w+)"/.exec(page)?.[1];
    if (prompt === undefined) throw new Error(`the provider says ${response.status}: ${page.slice(0, 500)}`);
    if (login === null) {
      url = new URL(/href="([^"]*abort)"/.exec(page)![1]!, url);
      continue;
    }
    form = { prompt, ...(prompt === "login" && { login: new URLSearchParams(login).toString(), password: "x" }) };
  }
  throw new Error("the provider sends the browser around in circles");
}
