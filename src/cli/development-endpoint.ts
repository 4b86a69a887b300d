import type { IncomingHttpHeaders } from "node:http";
import http from "node:http";
import https from "node:https";
import { rootCertificates } from "node:tls";
import { type OptionValues, textOption, UsageError } from "./command.ts";

/** Of `dunlin listen` and `dunlin trigger`. */
export const LISTEN_PORT = 8444;

const TIMEOUT_MS = 30_000;
const LOOPBACK_HOST = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** Accepts http only for this machine. */
export function developmentUrlOption(values: OptionValues, name: string): URL | undefined {
  const value = textOption(values, name);
  if (value === undefined) return undefined;
  const url = URL.canParse(value) ? new URL(value) : null;
  if (url?.protocol === "https:" || (url?.protocol === "http:" && LOOPBACK_HOST.test(url.hostname))) return url;
  throw new UsageError(`--${name} takes a URL with https, or with http on this machine, not "${value}".`);
}

export interface EndpointAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/**
 * As Dunlin would, once and without the address guard.
 *
 * @param ca  PEM of an extra trusted authority
 * @returns the answer, or why there is none
 */
export function postOnce(
  url: URL,
  headers: Record<string, string>,
  body: Buffer,
  ca: string,
): Promise<EndpointAnswer | string> {
  return new Promise((resolve) => {
    const { request } = url.protocol === "https:" ? https : http;
    const length = { "content-length": String(body.length) };
    const options = { method: "POST", headers: { ...headers, ...length }, ca: [...rootCertificates, ca], agent: false };
    const posting = request(url, options, (reply) => {
      const chunks: Buffer[] = [];
      reply.on("data", (chunk: Buffer) => chunks.push(chunk));
      reply.on("error", (error) => resolve(error.message));
      reply.on("end", () =>
        resolve({ status: reply.statusCode ?? 0, headers: reply.headers, body: Buffer.concat(chunks) }),
      );
    });
    posting.setTimeout(TIMEOUT_MS, () => posting.destroy(new Error(`no answer within ${TIMEOUT_MS / 1000} s`)));
    posting.on("error", (error) => resolve(error.message || String((error as NodeJS.ErrnoException).code)));
    posting.end(body);
  });
}
