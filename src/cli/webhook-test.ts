import {
  createTestEventSender,
  type TestEventResult,
  timingsText,
  withoutControlCharacters,
} from "../delivery/test-event.ts";
import { EVENT_TYPES, type EventType } from "../domain/event.ts";
import { loadWebhookNetwork } from "../process/webhook-network.ts";
import { findMerchant } from "../tables/merchants.ts";
import {
  type Command,
  type CommandContext,
  CommandFailure,
  EXIT_CODES,
  isUuid,
  type OpenedDatabase,
  textOption,
  UsageError,
  withDatabase,
} from "./command.ts";

export const webhookTest: Command = {
  name: "webhook test",
  usage: `MERCHANT [--type T] [--json]
  --type T                 ${EVENT_TYPES.join(" | ")} (pause_collection)`,
  summary: "Send a test event, and show the exchange and any problem",
  options: { type: { type: "string" }, json: { type: "boolean" } },
  positionals: ["MERCHANT"],
  examples: ["npx dunlin webhook test 0198…", "npx dunlin webhook test 0198… --type recovery_action"],
  async run(context, values, [id]) {
    const typeName = textOption(values, "type") ?? "pause_collection";
    const type = EVENT_TYPES.find((each) => each === typeName);
    if (!type) throw new UsageError(`--type takes one of ${EVENT_TYPES.join(", ")}, not "${typeName}".`);
    return withDatabase(context, async (opened) => {
      const tested = await sendTest(context, opened, id!, type);
      if (values.json) context.print(JSON.stringify(tested));
      else for (const line of formatTestedEvent(tested)) context.print(line);
      return tested.fine ? EXIT_CODES.ok : EXIT_CODES.failed;
    });
  },
};

async function sendTest(
  { settings }: CommandContext,
  { db, ports, secretKeys }: OpenedDatabase,
  id: string,
  type: EventType,
) {
  const merchant = isUuid(id) ? await findMerchant(db, id) : null;
  if (!merchant) throw new CommandFailure(`There is no merchant ${id}. "npx dunlin merchant list" shows them.`);
  const network = await loadWebhookNetwork(settings, db);
  const tested = await createTestEventSender(network, secretKeys, ports)(merchant, type);
  if (!tested)
    throw new CommandFailure(
      `${merchant.name} has no endpoint. To set one: npx dunlin merchant set ${id} --webhook-url …`,
    );
  return tested;
}

function formatTestedEvent(tested: TestEventResult): string[] {
  const { fine, problem, notes, certificate } = tested;
  const lines = [`POST ${tested.url}   (test event ${tested.eventId}, not logged)`, ""];
  if (tested.sent !== "") lines.push(...prefixLines(">", tested.sent), "");
  if (tested.head !== "") lines.push(...prefixLines("<", tested.head + tested.body), "");
  lines.push(`timings      ${timingsText(tested)}`);
  if (tested.addresses.length > 0) lines.push(`addresses    ${tested.addresses.join(", ")}`);
  if (tested.protocol) lines.push(`TLS          ${tested.protocol}`);
  if (certificate)
    lines.push(
      `certificate  ${certificate.subject || certificate.names}, by ${certificate.issuer}, until ${certificate.validTo.toISOString().slice(0, 10)}`,
    );
  lines.push(`result       ${fine ? "ok: an event sent like this is delivered" : problem}`);
  lines.push(...notes.map((note) => `note         ${note}`));
  return lines;
}

const prefixLines = (mark: string, shown: string) =>
  withoutControlCharacters(shown)
    .split("\n")
    .map((line) => `${mark} ${line}`.trimEnd());
