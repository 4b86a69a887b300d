import { parseAllowList } from "../delivery/https/address-guard.ts";
import { ALERT_KINDS, type AlertKind } from "../domain/notice.ts";
import { COMMAND_LINE_ACTOR } from "../domain/person.ts";
import { createChatPoster } from "../notices/chat.ts";
import { findChatUrlProblem, removeChat, setChat, setLargeAmounts, testChat } from "../notices/notice-settings.ts";
import { formatLargeAmounts, parseLargeAmounts } from "../notices/parse-large-amounts.ts";
import { loadWebhookNetwork } from "../process/webhook-network.ts";
import { findChatWebhook } from "../tables/chat-webhooks.ts";
import { listLargeAmounts } from "../tables/large-amounts.ts";
import { findMerchant } from "../tables/merchants.ts";
import {
  type Command,
  CommandFailure,
  EXIT_CODES,
  type OpenedDatabase,
  type OptionValues,
  textOption,
  UsageError,
  withDatabase,
} from "./command.ts";
import { resolveMerchant } from "./resolve-merchant.ts";
import { readSecretOption, secretOptions } from "./secret-options.ts";

const MERCHANT_OPTION = { merchant: { type: "string" } } as const;

export const notificationsShow: Command = {
  name: "notifications show",
  usage: `[--merchant M] [--json]
  --merchant M         not needed if there is only one merchant`,
  summary: "Show a merchant's chat for alerts, its last answer, and the amounts from which invoices are large",
  options: { ...MERCHANT_OPTION, json: { type: "boolean" } },
  positionals: [],
  examples: ["npx dunlin notifications show"],
  async run(context, values) {
    return withDatabase(context, async (opened) => {
      const merchantId = await resolveMerchant(opened.db, values);
      const [chat, large] = await Promise.all([
        findChatWebhook(opened.db, merchantId),
        listLargeAmounts(opened.db, merchantId),
      ]);
      if (values.json) {
        const { shown: url, alerts, answeredAt, answer, delivered } = chat ?? {};
        context.print(JSON.stringify({ chat: chat && { url, alerts, answeredAt, answer, delivered }, large }));
        return EXIT_CODES.ok;
      }
      context.print(`chat           ${chat?.shown ?? "none"}`);
      if (chat) context.print(`alerts         ${chat.alerts.join(", ") || "none"}`);
      if (chat?.answeredAt) context.print(`last answer    ${chat.answer} at ${chat.answeredAt.toISOString()}`);
      context.print(`large amounts  ${formatLargeAmounts(large) || "none"}`);
      return EXIT_CODES.ok;
    });
  },
};

export const notificationsSet: Command = {
  name: "notifications set",
  usage: `[--merchant M] [--chat-url-file F] [--alerts A,B] [--large AMOUNTS]
  --merchant M         not needed if there is only one merchant
  --chat-url-file F    the chat's webhook, which takes {"text": …} as Slack's does: file with its URL; - is standard input
  --chat-url U         the URL as text; other users of this machine can read it in the process list
  --alerts A,B         what the chat is announced, or none: ${ALERT_KINDS.join(", ")} (all)
  --large AMOUNTS      from which amount an invoice is large, by currency, or none`,
  summary: "Set the chat that gets a merchant's alerts, and the amounts from which invoices are large",
  options: { ...MERCHANT_OPTION, ...secretOptions("chat-url"), alerts: { type: "string" }, large: { type: "string" } },
  positionals: [],
  examples: [
    "npx dunlin notifications set --chat-url-file chat-url --alerts endpoint,ingest",
    'npx dunlin notifications set --large "EUR 500, USD 600"',
  ],
  async run(context, values) {
    const url = (await readSecretOption(context, values, "chat-url")) ?? null;
    const alerts = parseAlerts(values);
    const large = parseLarge(values);
    if (url === null && alerts === null && large === null)
      throw new UsageError("Nothing to change. Pass --chat-url-file, --alerts or --large.");
    const problem = url && (await findChatUrlProblem(url, parseAllowList(context.settings.webhookAllow)));
    if (problem) throw new UsageError(`--chat-url: ${problem}.`);
    return withDatabase(context, async (opened) => {
      const merchantId = await resolveMerchant(opened.db, values);
      if (url !== null || alerts !== null) await changeChat(opened, merchantId, url, alerts);
      if (large !== null) await setLargeAmounts(opened.db, merchantId, large, COMMAND_LINE_ACTOR, opened.ports);
      context.print("Saved.");
      return EXIT_CODES.ok;
    });
  },
};

async function changeChat(opened: OpenedDatabase, merchantId: string, url: string | null, given: AlertKind[] | null) {
  const { db, secretKeys, ports } = opened;
  const before = await findChatWebhook(db, merchantId);
  const alerts = given ?? before?.alerts ?? ALERT_KINDS;
  const by = { actor: COMMAND_LINE_ACTOR, secretKeys, ports };
  if (!(await setChat(db, merchantId, { url, alerts }, by)))
    throw new CommandFailure("This merchant has no chat yet. Give its URL: --chat-url-file F");
}

function parseAlerts(values: OptionValues): AlertKind[] | null {
  const text = textOption(values, "alerts");
  if (text === undefined) return null;
  const names = text === "none" ? [] : text.split(",").map((name) => name.trim());
  const unknown = names.find((name) => !ALERT_KINDS.some((kind) => kind === name));
  if (unknown !== undefined)
    throw new UsageError(`--alerts takes ${ALERT_KINDS.join(", ")} or none, not "${unknown}".`);
  return ALERT_KINDS.filter((kind) => names.includes(kind));
}

function parseLarge(values: OptionValues) {
  const text = textOption(values, "large");
  const amounts = text === undefined ? null : parseLargeAmounts(text);
  if (typeof amounts === "string") throw new UsageError(`--large: ${amounts}`);
  return amounts;
}

export const notificationsTest: Command = {
  name: "notifications test",
  usage: `[--merchant M]
  --merchant M         not needed if there is only one merchant`,
  summary: "Send a test to a merchant's chat, and print its answer",
  options: MERCHANT_OPTION,
  positionals: [],
  examples: ["npx dunlin notifications test"],
  async run(context, values) {
    return withDatabase(context, async ({ db, ports, secretKeys }) => {
      const merchantId = await resolveMerchant(db, values);
      const { allow, extraCa } = await loadWebhookNetwork(context.settings, db);
      const chat = createChatPoster({ allow, extraCa, monotonicMs: ports.monotonicMs }, secretKeys);
      try {
        const { name } = (await findMerchant(db, merchantId))!;
        const service = { postChat: chat.post, consoleUrl: context.settings.authUrl, ports };
        const tested = await testChat(db, merchantId, name, service);
        if (tested === null)
          throw new CommandFailure(
            "This merchant has no chat. To set one: npx dunlin notifications set --chat-url-file F",
          );
        context.print(tested.delivered ? `Accepted: ${tested.answer}` : `Not accepted: ${tested.answer}`);
        return tested.delivered ? EXIT_CODES.ok : EXIT_CODES.failed;
      } finally {
        chat.close();
      }
    });
  },
};

export const notificationsRemove: Command = {
  name: "notifications remove",
  usage: `[--merchant M]
  --merchant M         not needed if there is only one merchant`,
  summary: "Remove a merchant's chat",
  options: MERCHANT_OPTION,
  positionals: [],
  examples: ["npx dunlin notifications remove"],
  async run(context, values) {
    return withDatabase(context, async ({ db, ports }) => {
      const merchantId = await resolveMerchant(db, values);
      const isRemoved = await removeChat(db, merchantId, COMMAND_LINE_ACTOR, ports);
      context.print(isRemoved ? "The chat was removed." : "This merchant has no chat.");
      return EXIT_CODES.ok;
    });
  },
};
