import { type FuzzBody, mutateBody } from "./body-mutations.ts";
import { type ExpectedAnswer, expectAnswer } from "./expected-answer.ts";
import { NAUGHTY_TEXTS } from "./naughty-texts.ts";
import type { SeededRandom } from "./seeded-random.ts";

export type RequestKind = "body" | "query" | "token" | "key" | "path";

/** A request and its expected answer. */
export interface HostileRequest {
  kind: RequestKind;
  method: string;
  path: string;
  headers: Record<string, string>;
  body: Buffer | null;
  verdict: ExpectedAnswer;
}

export interface RequestSources {
  dice: SeededRandom;
  apiKey: string;
  /** Bodies from the schemas. */
  bodies: readonly { name: string; text: string }[];
  /** Tokens issued by the service. */
  tokens: readonly string[];
}

const JSON_TYPE = { "content-type": "application/json" };
const getRequest = (kind: RequestKind, path: string, apiKey: string, statuses: number[]): HostileRequest => ({
  kind,
  method: "GET",
  path,
  headers: { authorization: `Bearer ${apiKey}` },
  body: null,
  verdict: { statuses },
});

/** Creates the next hostile request. */
export function createHostileRequest(makings: RequestSources): HostileRequest {
  const { dice, apiKey, tokens } = makings;
  const kind = dice.upTo(100);
  if (kind < 80) return createHostileBody(makings);
  if (kind < 88) return createHostileQuery(dice, apiKey);
  if (kind < 93) {
    const token = mutateText(dice.pick(tokens), dice);
    const statuses = token === "" || tokens.includes(token) ? [200] : [400];
    return getRequest("token", `/v1/recovery_actions?pageToken=${encodeURIComponent(token)}`, apiKey, statuses);
  }
  if (kind < 97) return createHostileKey(makings);
  const method = dice.pick(["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"]);
  const path = `/${dice.pick(["", "v1/", "ingest/v1/"])}${encodeURIComponent(dice.pick(NAUGHTY_TEXTS).toWellFormed()).slice(0, 2_000)}x`;
  return { ...getRequest("path", path, apiKey, method === "OPTIONS" ? [204, 404] : [400, 404, 405]), method };
}

function createHostileBody({ dice, apiKey, bodies }: RequestSources): HostileRequest {
  const { name, text } = dice.pick(bodies);
  const body: FuzzBody = mutateBody(text, dice);
  return {
    kind: "body",
    method: "POST",
    path: `/ingest/v1/${name}`,
    headers: { authorization: `Bearer ${apiKey}`, ...JSON_TYPE, ...body.headers },
    body: body.bytes,
    verdict: expectAnswer(name, body),
  };
}

// A random text can be valid for some of them, so both answers are fine, except for unknown or repeated parameters.
const PARAMETERS =
  "subscriptionId invoiceId customerId transactionId cardCountry currency type status orderBy orderDirection pageSize".split(
    " ",
  );

function createHostileQuery(dice: SeededRandom, apiKey: string): HostileRequest {
  const name = dice.pick([...PARAMETERS, "executedAfter", "executedBefore", "__proto__", "page_size"]);
  const value = encodeURIComponent(dice.pick(NAUGHTY_TEXTS).toWellFormed())
    .slice(0, 6_000)
    .replace(/%[^%]?$/, "");
  const twice = dice.once(10) ? `&${name}=${value}` : "";
  const isUnknown = name === "__proto__" || name === "page_size";
  return getRequest(
    "query",
    `/v1/recovery_actions?${name}=${value}${twice}`,
    apiKey,
    isUnknown || twice ? [400] : [200, 400],
  );
}

const KEY_CHARS = "0123456789ABCXYZabcxyz_-.=~+/";

function mutateText(text: string, dice: SeededRandom): string {
  const at = dice.upTo(text.length);
  switch (dice.upTo(4)) {
    case 0:
      return text.slice(0, at);
    case 1:
      return text.slice(0, at) + dice.pick([...KEY_CHARS]) + text.slice(at + 1);
    case 2:
      return text.slice(0, at) + dice.pick([...KEY_CHARS]) + text.slice(at);
    default:
      return text + text.slice(at);
  }
}

function createHostileKey({ dice, apiKey, bodies }: RequestSources): HostileRequest {
  const { name, text } = dice.pick(bodies);
  const key = mutateText(apiKey, dice);
  const visible = Buffer.from(dice.pick(NAUGHTY_TEXTS))
    .toString("latin1")
    .replaceAll(/[^\x21-\x7e]/g, "x")
    .slice(0, 4_000);
  const authorization = dice.pick([`Bearer ${key}`, `bearer  ${visible}`, `Basic ${key}`, `Bearer ${key} x`, visible]);
  return {
    kind: "key",
    method: "POST",
    path: `/ingest/v1/${name}`,
    headers: { ...JSON_TYPE, authorization: key === apiKey ? "Bearer x" : authorization },
    body: Buffer.from(text),
    // An address that guesses often may be blocked for a while.
    verdict: { statuses: [401, 429] },
  };
}
