import { parseAllow } from "../delivery/https/address-guard.ts";
import { createTestEvents, plainText, type TestedEvent, timingsOf } from "../delivery/test-event.ts";
import { EVENT_TYPES, type EventType } from "../domain/event.ts";
import { findMerchant } from "../store/merchants.ts";
import {
  type Command,
  type Context,
  EXIT,
  Failure,
  isUuid,
  type Opened,
  text,
  UsageError,
  withDatabase,
} from "./command.ts";

/** `dunlin webhook test`: one attempt with a test event, and everything that was seen of it. */
export const webhookTest: Command = {
  name: "webhook test",
  usage: `MERCHANT [--type T] [--json]
  --type T                 ${EVENT_TYPES.join(" | ")} (pause_collection)`,
  summary: "Send a test event, show the exchange, and name what is wrong",
  options: { type: { type: "string" }, json: { type: "boolean" } },
  positionals: ["MERCHANT"],
  examples: ["npx dunlin webhook test 0198…", "npx dunlin webhook test 0198… --type recovery_action"],
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

async function sendTest({ settings }: Context, { db, ports, secretKeys }: Opened, id: string, type: EventType) {
  const merchant = isUuid(id) ? await findMerchant(db, id) : null;
  if (!merchant) throw new Failure(`There is no merchant ${id}. "npx dunlin merchant list" shows them.`);
  const network = {
    allow: parseAllow(settings.webhookAllow),
    extraCa: settings.webhookCa,
    clientCertificate: settings.webhookClientCertificate,
  };
  const tested = await createTestEvents(network, secretKeys, ports)(merchant, type);
  if (!tested)
    throw new Failure(`${merchant.name} has no endpoint. Set it: npx dunlin merchant set ${id} --webhook-url …`);
  return tested;
}

function linesOf(tested: TestedEvent): string[] {
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

/** Each line with a mark in front. */
const framed = (mark: string, shown: string) =>
  plainText(shown)
    .split("\n")
    .map((line) => `${mark} ${line}`.trimEnd());
