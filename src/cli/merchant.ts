import { parseAllow } from "../delivery/https/address-guard.ts";
import { checkSavedName } from "../delivery/https/saved-name.ts";
import type { Merchant } from "../domain/merchant.ts";
import { PERMISSIONS } from "../domain/permission.ts";
import { COMMAND_LINE } from "../domain/person.ts";
import { type Also, createMerchant, setMerchant } from "../recovery/merchants.ts";
import { auditCreation, auditSettings } from "../recovery/settings-audit.ts";
import { SETTINGS_WORDS } from "../recovery/settings-words.ts";
import { runningExperiment } from "../store/experiments.ts";
import { listMerchants } from "../store/merchants.ts";
import { type Command, type Context, EXIT, Failure, isUuid, table, text, UsageError, withDatabase } from "./command.ts";
import { endpointState } from "./endpoint-words.ts";
import { makeKey } from "./key.ts";
import { MERCHANT_OPTIONS, MERCHANT_USAGE, merchantSettings } from "./merchant-options.ts";

export const merchantCreate: Command = {
  name: "merchant create",
  usage: `--name N [options]${MERCHANT_USAGE}
  --json                   print {merchantId, apiKey}`,
  summary: "Add a merchant and a key with every permission",
  begins: true,
  options: MERCHANT_OPTIONS,
  positionals: [],
  examples: [
    'npx dunlin merchant create --name "Harbor Coffee" --webhook-url https://billing.example.com/dunlin --bearer-file webhook-token --json',
  ],
  async run(context, values) {
    const settings = await merchantSettings(context, values);
    const name = text(values, "name");
    if (name === undefined) throw new UsageError("--name is missing.");
    if (settings.webhookUrl && !settings.credential)
      throw new UsageError(
        "--webhook-url needs --bearer-file F or --basic-file F: the endpoint recognizes Dunlin by that credential.",
      );
    await checkName(context, settings.webhookUrl, values.json === true);
    return withDatabase(context, async ({ db, ports, secretKeys }) => {
      const { merchant, apiKey } = await db.transaction(async (tx) => {
        const merchant = await createMerchant(tx, name, settings, secretKeys, ports);
        await auditCreation(tx, COMMAND_LINE, merchant, ports);
        const key = { merchantId: merchant.id, permissions: PERMISSIONS };
        return { merchant, apiKey: (await makeKey(tx, key, ports)).apiKey };
      });
      if (values.json) context.print(JSON.stringify({ merchantId: merchant.id, apiKey }));
      else {
        context.print(`merchant  ${merchant.id}`);
        context.print(`API key   ${apiKey}   (shown once; all permissions)`);
      }
      return EXIT.ok;
    });
  },
};

export const merchantSet: Command = {
  name: "merchant set",
  usage: `MERCHANT [options]${MERCHANT_USAGE}
  --json                   print the merchant as JSON`,
  summary: "Change a merchant's endpoint, credential, shape, lead, window, budget, limits, pause or shadow mode",
  options: MERCHANT_OPTIONS,
  positionals: ["MERCHANT"],
  examples: [
    "npx dunlin merchant set 0198… --shape flat --sub-paths yes",
    "npx dunlin merchant set 0198… --paused yes",
    "npx dunlin merchant set 0198… --resume",
  ],
  async run(context, values, [id]) {
    const settings = await merchantSettings(context, values);
    if (Object.keys(settings).length === 0) throw new UsageError("Say what to change.");
    if (!isUuid(id!)) throw new Failure(`There is no merchant ${id}. "npx dunlin merchant list" shows them.`);
    await checkName(context, settings.webhookUrl, values.json === true);
    return withDatabase(context, async ({ db, ports, secretKeys }) => {
      const audited = auditSettings(COMMAND_LINE, "merchant.changed", ports);
      const also: Also = async (tx, before, after) => {
        // Asked while the merchant is held: no experiment can begin meanwhile.
        if (settings.shadow && (await runningExperiment(tx, id!))) throw new Failure(RUNNING);
        await audited(tx, before, after);
      };
      const merchant = await setMerchant(db, id!, settings, secretKeys, ports, also);
      if (!merchant) throw new Failure(`There is no merchant ${id}. "npx dunlin merchant list" shows them.`);
      if (merchant.webhookUrl && !merchant.webhookAuth)
        context.print(
          "Note: no credential is set; requests go out without Authorization. Use --bearer-file or --basic-file.",
        );
      print(context.print, merchant, values.json === true);
      return EXIT.ok;
    });
  },
};

const RUNNING = 'An experiment is running. "npx dunlin experiment stop" ends it; then shadow mode can begin.';

export const merchantList: Command = {
  name: "merchant list",
  usage: "[--json]",
  summary: "Show the merchants and their endpoints",
  options: { json: { type: "boolean" } },
  positionals: [],
  examples: ["npx dunlin merchant list"],
  async run(context, values) {
    return withDatabase(context, async ({ db }) => {
      const merchants = await listMerchants(db);
      if (values.json) context.print(JSON.stringify(merchants.map(shown)));
      else
        for (const line of table(
          ["MERCHANT", "NAME", "ENDPOINT", "STATE"],
          merchants.map((m) => [m.id, m.name, m.webhookUrl ?? "none", endpointState(m)]),
        ))
          context.print(line);
      return EXIT.ok;
    });
  },
};

/** Refuses a URL whose name leads to addresses that no attempt may dial, and notes one that leads nowhere. */
async function checkName({ settings, print }: Context, url: string | null | undefined, json: boolean) {
  if (!url) return;
  const finding = await checkSavedName(url, parseAllow(settings.webhookAllow));
  if (finding.verdict === "refused") throw new UsageError(`--webhook-url: ${finding.words}.`);
  if (finding.verdict === "unknown" && !json)
    print(`Note: ${finding.words} from here; attempts will fail until it has one.`);
}

/** A merchant without what is secret. */
const shown = ({ webhookCredential: _, webhookSecret, webhookOldSecret: __, bucket: ___, ...merchant }: Merchant) => ({
  ...merchant,
  webhookSigned: webhookSecret !== null,
});

function print(line: (text: string) => void, merchant: Merchant, json: boolean) {
  if (json) line(JSON.stringify(shown(merchant)));
  else
    for (const [name, words] of [["merchant", () => merchant.id] as const, ...SETTINGS_WORDS])
      line(`${name.padEnd(16)} ${words(merchant)}`);
}
