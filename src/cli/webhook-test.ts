import { targetOf } from "../delivery/attempt.ts";
import { parseAllow } from "../delivery/https/address-guard.ts";
import { redact } from "../delivery/https/credential.ts";
import { type Diagnosis, diagnose } from "../delivery/https/diagnosis.ts";
import { createSender } from "../delivery/https/send.ts";
import { type Seen, startTrace } from "../delivery/https/trace.ts";
import { EVENT_TYPES, type EventType, testBody } from "../domain/event.ts";
import { findMerchant } from "../store/merchants.ts";
import { type Command, type Context, EXIT, Failure, type Opened, text, UsageError, withDatabase } from "./command.ts";
import { isUuid } from "./merchant.ts";

/** `dunlin webhook test`: one attempt with a test event, and everything that was seen of it. */
export const webhookTest: Command = {
  name: "webhook test",
  usage: `MERCHANT [--type T] [--json]
  --type T                 ${EVENT_TYPES.join(" | ")} (pause_collection)`,
  summary: "Send a test event, show the exchange, and name what is wrong",
  options: { type: { type: "string" }, json: { type: "boolean" } },
  positionals: ["MERCHANT"],
  examples: ["dunlin webhook test 0198…", "dunlin webhook test 0198… --type recovery_action"],
  async run(context, values, [id]) {
    const named = text(values, "type") ?? "pause_collection";
    const type = EVENT_TYPES.find((each) => each === named);
    if (!type) throw new UsageError(`--type takes one of ${EVENT_TYPES.join(", ")}, not "${named}".`);
    return withDatabase(context, async (opened) => {
      const tested = await sendTest(context, opened, id!, type);
      if (values.json) context.print(JSON.stringify(tested));
      else for (const line of linesOf(tested)) context.print(line);
      return tested.fine ? EXIT.ok : EXIT.failed;
    });
  },
};

interface Tested extends Diagnosis, Seen {
  url: string;
  eventId: string;
  totalMs: number;
}

async function sendTest(
  context: Context,
  { db, ports, secretKey }: Opened,
  id: string,
  type: EventType,
): Promise<Tested> {
  const merchant = isUuid(id) ? await findMerchant(db, id) : null;
  if (!merchant) throw new Failure(`There is no merchant ${id}. "dunlin merchant list" shows them.`);
  const target = targetOf(merchant, secretKey);
  if (!target) throw new Failure(`${merchant.name} has no endpoint. Set it: dunlin merchant set ${id} --webhook-url …`);
  const { webhookAllow, webhookCa, webhookClientCertificate: clientCertificate } = context.settings;
  const monotonicMs = ports.monotonicMs;
  const sender = createSender({ allow: parseAllow(webhookAllow), extraCa: webhookCa, clientCertificate, monotonicMs });
  try {
    const eventId = ports.newId();
    const body = testBody(eventId, type, ports.now(), merchant.webhookFlat);
    const signature = target.sign?.(eventId, body, ports.realNow(), ports.now()) ?? null;
    const trace = startTrace(monotonicMs);
    const startedMs = monotonicMs();
    const { origin, paths, authorization, secrets } = target;
    const reply = await sender.send({ origin, path: paths[type], authorization, body, signature, trace });
    const totalMs = Math.round(monotonicMs() - startedMs);
    const seen = trace.seen();
    const masked = (shown: string) => redact(shown, secrets);
    const diagnosis = diagnose(reply, seen, totalMs, context.realNow());
    return {
      url: origin + paths[type],
      eventId,
      ...diagnosis,
      problem: diagnosis.problem === null ? null : masked(diagnosis.problem),
      totalMs,
      ...seen,
      // Sent and received alike: an endpoint may give back what it was given.
      sent: masked(seen.sent),
      head: masked(seen.head),
      body: masked(seen.body),
    };
  } finally {
    sender.close();
  }
}

function linesOf(tested: Tested): string[] {
  const { fine, problem, notes, certificate } = tested;
  const lines = [`POST ${tested.url}   (test event ${tested.eventId}, not logged)`, ""];
  if (tested.sent !== "") lines.push(...framed(">", tested.sent), "");
  if (tested.head !== "") lines.push(...framed("<", tested.head + tested.body), "");
  lines.push(`timings      ${timingsOf(tested)}`);
  if (tested.addresses.length > 0) lines.push(`dialled      ${tested.addresses.join(", ")}`);
  if (tested.protocol) lines.push(`TLS          ${tested.protocol}`);
  if (certificate)
    lines.push(
      `certificate  ${certificate.subject || certificate.names}, by ${certificate.issuer}, until ${certificate.validTo.toISOString().slice(0, 10)}`,
    );
  lines.push(`result       ${fine ? "fine: an event sent like this is delivered" : problem}`);
  lines.push(...notes.map((note) => `note         ${note}`));
  return lines;
}

/** Each line with a mark in front, and nothing in it that could move a terminal's cursor. */
const framed = (mark: string, shown: string) =>
  shown.split(/\r?\n/).map((line) => `${mark} ${line.replace(/[\p{Cc}\p{Cf}]/gu, "·")}`.trimEnd());

const STEPS = [
  ["look-up", "lookUpMs"],
  ["connect", "connectMs"],
  ["TLS", "tlsMs"],
  ["first byte", "firstByteMs"],
  ["total", "totalMs"],
] as const;

/** How long each step took by itself, those that were not reached left out. */
function timingsOf(tested: Tested): string {
  let beforeMs = 0;
  const parts = STEPS.flatMap(([name, field]) => {
    const atMs = tested[field];
    if (atMs === null) return [];
    const tookMs = field === "totalMs" ? atMs : atMs - beforeMs;
    beforeMs = atMs;
    return [`${name} ${tookMs.toFixed(field === "totalMs" ? 0 : 1)} ms`];
  });
  return parts.join(", ");
}
