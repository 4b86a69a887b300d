import { readFileSync } from "node:fs";
import { join } from "node:path";
import { authorizationHeader } from "../delivery/https/credential.ts";
import { createSigner } from "../delivery/https/signature.ts";
import { HOUR_MS } from "../domain/durations.ts";
import {
  buildEnvelope,
  buildFlatRetryRequest,
  EVENT_TYPES,
  exampleCaseEvent,
  type RecoveryActionData,
} from "../domain/event.ts";
import { ACTION_SUGGESTIONS } from "../domain/recovery-action.ts";
import { ensureLocalCertificate } from "../http/local-certificate.ts";
import { uuidV7 } from "../process/clock.ts";
import {
  type Command,
  type CommandContext,
  EXIT_CODES,
  type OptionValues,
  textOption,
  timeOption,
  UsageError,
} from "./command.ts";
import { developmentUrlOption, LISTEN_PORT, postOnce } from "./development-endpoint.ts";
import { parseCredential } from "./merchant-options.ts";
import { readSecretOption, secretOptions } from "./secret-options.ts";

export const trigger: Command = {
  name: "trigger",
  usage: `EVENT [options]
  EVENT                  ${EVENT_TYPES.join(" | ")}
  --to URL               the endpoint; http is fine on this machine (the address of "npx dunlin listen")
  --bearer-file F, --basic-file F, --secret-file F
                         files with a token, user:password, or the signing secret; - is standard input
  --bearer T, --basic U:P, --secret whsec_…
                         the same as text; other users of this machine can read it in the process list
  --invoice ID           (inv_1)
  --subscription ID
  --suggestion S         ${ACTION_SUGGESTIONS.join(" | ")} (RETRY)
  --at TIME              the ideal time of a retry (an hour from now)
  --shape flat           the flat retry request
  --id ID                the id of an event that was sent before, to test how your endpoint treats duplicates`,
  summary: "Send a made-up event to an endpoint under development",
  options: {
    ...secretOptions("bearer", "basic", "secret"),
    ...Object.fromEntries(
      ["to", "invoice", "subscription", "suggestion", "at", "shape", "id"].map((name) => [name, { type: "string" }]),
    ),
  },
  positionals: ["EVENT"],
  examples: [
    "npx dunlin trigger recovery_action --bearer-file webhook-token",
    "npx dunlin trigger pause_collection --to http://localhost:3000/dunlin --bearer-file webhook-token --invoice inv_42",
  ],
  async run(context, values, [eventType]) {
    const { dataDir, baseUrl } = context.settings;
    const at = context.realNow();
    const id = textOption(values, "id") ?? uuidV7(at, 0, context.randomBytes(8));
    const body = buildBody(eventType!, id, values, at);
    const url = developmentUrlOption(values, "to") ?? new URL(`https://127.0.0.1:${LISTEN_PORT}`);
    const { caFile } = await ensureLocalCertificate(join(dataDir, "tls"), new URL(baseUrl).hostname, at);
    context.print(`POST ${url.href}`);
    context.print(body);
    const headers = await buildHeaders(context, id, body, values, at);
    const answer = await postOnce(url, headers, Buffer.from(body), readFileSync(caFile, "utf8"));
    if (typeof answer === "string") {
      context.print(`no answer: ${answer}`);
      return EXIT_CODES.unreachable;
    }
    context.print(`${answer.status} ${answer.body.toString().replace(/[\p{Cc}\p{Cf}]/gu, "·")}`.trimEnd());
    return answer.status >= 200 && answer.status < 300 ? EXIT_CODES.ok : EXIT_CODES.failed;
  },
};

function buildBody(eventType: string, id: string, values: OptionValues, at: Date): string {
  const type = EVENT_TYPES.find((each) => each === eventType);
  if (!type) throw new UsageError(`EVENT is one of ${EVENT_TYPES.join(", ")}, not "${eventType}".`);
  const invoiceId = textOption(values, "invoice") ?? "inv_1";
  const shape = textOption(values, "shape") ?? "envelope";
  if (shape !== "envelope" && (shape !== "flat" || type !== "recovery_action"))
    throw new UsageError(`--shape takes envelope or, for a recovery_action, flat, not "${shape}".`);
  if (type !== "recovery_action") return buildEnvelope(id, type, at, exampleCaseEvent(type, invoiceId));
  const suggestion = textOption(values, "suggestion") ?? "RETRY";
  const actionSuggestion = ACTION_SUGGESTIONS.find((each) => each === suggestion);
  if (!actionSuggestion)
    throw new UsageError(`--suggestion takes one of ${ACTION_SUGGESTIONS.join(", ")}, not "${suggestion}".`);
  const data: RecoveryActionData = {
    invoiceId,
    subscriptionId: textOption(values, "subscription") ?? null,
    actionSuggestion,
    idealRetryTime: timeOption(values, "at") ?? new Date(at.getTime() + HOUR_MS),
  };
  return shape === "flat" ? buildFlatRetryRequest(id, data) : buildEnvelope(id, type, at, data);
}

async function buildHeaders(
  context: CommandContext,
  id: string,
  body: string,
  values: OptionValues,
  at: Date,
): Promise<Record<string, string>> {
  const headers: Record<string, string> = { "content-type": "application/json" };
  const credential = await parseCredential(context, values);
  if (credential) headers.authorization = authorizationHeader(credential.auth, credential.secret);
  const secret = await readSecretOption(context, values, "secret");
  if (secret === undefined) return headers;
  try {
    const signed = createSigner({ current: secret, old: null })(id, body, at, at);
    for (let n = 0; n < signed.length; n += 2) headers[signed[n]!] = signed[n + 1]!;
    return headers;
  } catch (error) {
    throw new UsageError(`--secret: ${(error as Error).message}.`);
  }
}
