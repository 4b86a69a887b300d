import { parseAllowList } from "../delivery/https/address-guard.ts";
import { checkWebhookHost } from "../delivery/https/check-webhook-host.ts";
import type { Merchant } from "../domain/merchant.ts";
import { PERMISSIONS } from "../domain/permission.ts";
import { COMMAND_LINE_ACTOR } from "../domain/person.ts";
import type { Ports } from "../domain/ports.ts";
import { changeMerchant, createMerchant, type ExtraWrite } from "../merchants/merchant-settings.ts";
import { saveReportingChoice } from "../merchants/reporting-currency.ts";
import { auditCreation, auditSettings } from "../merchants/settings-audit.ts";
import { SETTINGS_WORDING } from "../merchants/settings-wording.ts";
import type { Tx } from "../postgres/database.ts";
import { countOpenCases } from "../tables/cases.ts";
import { runningExperiment } from "../tables/experiments.ts";
import { listMerchants } from "../tables/merchants.ts";
import { type ReportingRates, readReportingRates } from "../tables/reporting-rates.ts";
import {
  type Command,
  type CommandContext,
  CommandFailure,
  EXIT_CODES,
  formatTable,
  isUuid,
  textOption,
  UsageError,
  withDatabase,
} from "./command.ts";
import { describeEndpointState } from "./endpoint-state.ts";
import { createKey } from "./key-commands.ts";
import { MERCHANT_OPTIONS, MERCHANT_USAGE, parseMerchantSettings } from "./merchant-options.ts";
import {
  applyReportingChange,
  describeReporting,
  parseReportingChange,
  REPORTING_OPTIONS,
  REPORTING_USAGE,
  type ReportingChange,
} from "./reporting-options.ts";

export const merchantCreate: Command = {
  name: "merchant create",
  usage: `--name N [options]${MERCHANT_USAGE}
  --json                   print {merchantId, apiKey}`,
  summary: "Create a merchant and an API key with all permissions",
  createsDatabase: true,
  options: MERCHANT_OPTIONS,
  positionals: [],
  examples: [
    'npx dunlin merchant create --name "Harbor Coffee" --webhook-url https://billing.example.com/dunlin --bearer-file webhook-token --json',
  ],
  async run(context, values) {
    const settings = await parseMerchantSettings(context, values);
    const name = textOption(values, "name");
    if (name === undefined) throw new UsageError("--name is missing.");
    if (settings.webhookUrl && !settings.credential)
      throw new UsageError(
        "--webhook-url needs --bearer-file F or --basic-file F: the endpoint recognizes Dunlin by that credential.",
      );
    await checkHostName(context, settings.webhookUrl, values.json === true);
    return withDatabase(context, async ({ db, ports, secretKeys }) => {
      const { merchant, apiKey } = await db.transaction(async (tx) => {
        const merchant = await createMerchant(tx, name, settings, secretKeys, ports);
        await auditCreation(tx, COMMAND_LINE_ACTOR, merchant, ports);
        const key = { merchantId: merchant.id, permissions: PERMISSIONS };
        return { merchant, apiKey: (await createKey(tx, key, ports)).apiKey };
      });
      if (values.json) context.print(JSON.stringify({ merchantId: merchant.id, apiKey }));
      else {
        context.print(`merchant  ${merchant.id}`);
        context.print(`API key   ${apiKey}   (shown once; all permissions)`);
      }
      return EXIT_CODES.ok;
    });
  },
};

export const merchantSet: Command = {
  name: "merchant set",
  usage: `MERCHANT [options]${MERCHANT_USAGE}${REPORTING_USAGE}
  --json                   print the merchant as JSON`,
  summary:
    "Change a merchant's endpoint, credential, shape, lead, window, budget, limits, pause, shadow mode or reporting currency",
  options: { ...MERCHANT_OPTIONS, ...REPORTING_OPTIONS },
  positionals: ["MERCHANT"],
  examples: [
    "npx dunlin merchant set 0198… --shape flat --sub-paths yes",
    "npx dunlin merchant set 0198… --paused yes",
    "npx dunlin merchant set 0198… --resume",
    "npx dunlin merchant set 0198… --report-in EUR --rate GBP=1.17 --rate USD=0.92",
  ],
  async run(context, values, [id]) {
    const settings = await parseMerchantSettings(context, values);
    const reporting = parseReportingChange(values);
    if (Object.keys(settings).length === 0 && reporting === null)
      throw new UsageError("Nothing to change. Pass at least one setting, such as --webhook-url (see --help).");
    if (!isUuid(id!)) throw new CommandFailure(`There is no merchant ${id}. "npx dunlin merchant list" shows them.`);
    await checkHostName(context, settings.webhookUrl, values.json === true);
    return withDatabase(context, async ({ db, ports, secretKeys }) => {
      const checkAndAudit: ExtraWrite = async (tx, before, after) => {
        // Under the merchant's lock no experiment can start meanwhile.
        if (settings.shadow && (await runningExperiment(tx, id!))) throw new CommandFailure(EXPERIMENT_RUNNING_MESSAGE);
        const changes = reporting === null ? {} : await changeReporting(tx, id!, reporting, ports);
        await auditSettings(COMMAND_LINE_ACTOR, "merchant.changed", ports, changes)(tx, before, after);
      };
      const merchant = await changeMerchant(db, id!, settings, secretKeys, ports, checkAndAudit);
      if (!merchant) throw new CommandFailure(`There is no merchant ${id}. "npx dunlin merchant list" shows them.`);
      if (merchant.webhookUrl && !merchant.webhookAuth)
        context.print(
          "Note: no credential is set; requests go out without Authorization. Use --bearer-file or --basic-file.",
        );
      const shown = await readReportingRates(db, merchant.id);
      printMerchant(context.print, merchant, shown, values.json === true);
      const keepsCases = settings.windowDays !== undefined || settings.budget !== undefined;
      const openCases = keepsCases && !values.json ? await countOpenCases(db, merchant.id) : 0;
      if (openCases > 0)
        context.print(
          `Note: ${openCases} open ${openCases === 1 ? "case keeps" : "cases keep"} the window and the budget from the day of opening.`,
        );
      return EXIT_CODES.ok;
    });
  },
};

const changeReporting = async (tx: Tx, merchantId: string, change: ReportingChange, ports: Ports) =>
  saveReportingChoice(tx, merchantId, applyReportingChange(await readReportingRates(tx, merchantId), change), ports);

const EXPERIMENT_RUNNING_MESSAGE =
  "An experiment is running. Before you turn on shadow mode, stop it: npx dunlin experiment stop";

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
      if (values.json) context.print(JSON.stringify(merchants.map(withoutSecrets)));
      else
        for (const line of formatTable(
          ["MERCHANT", "NAME", "ENDPOINT", "STATE"],
          merchants.map((m) => [m.id, m.name, m.webhookUrl ?? "none", describeEndpointState(m)]),
        ))
          context.print(line);
      return EXIT_CODES.ok;
    });
  },
};

/** Refuses a forbidden address, and only warns if the host does not resolve. */
async function checkHostName({ settings, print }: CommandContext, url: string | null | undefined, json: boolean) {
  if (!url) return;
  const finding = await checkWebhookHost(url, parseAllowList(settings.webhookAllow));
  if (finding.verdict === "refused") throw new UsageError(`--webhook-url: ${finding.reason}.`);
  if (finding.verdict === "unknown" && !json)
    print(`Note: ${finding.reason} from here; attempts will fail until it has one.`);
}

const withoutSecrets = ({
  webhookCredential: _,
  webhookSecret,
  webhookOldSecret: __,
  bucket: ___,
  ...merchant
}: Merchant) => ({
  ...merchant,
  webhookSigned: webhookSecret !== null,
});

function printMerchant(
  line: (text: string) => void,
  merchant: Merchant,
  reporting: ReportingRates | null,
  json: boolean,
) {
  const reports = reporting && { currency: reporting.currency, rates: Object.fromEntries(reporting.rates) };
  if (json) return line(JSON.stringify({ ...withoutSecrets(merchant), reporting: reports }));
  for (const [name, words] of [["merchant", () => merchant.id] as const, ...SETTINGS_WORDING])
    line(`${name.padEnd(16)} ${words(merchant)}`);
  line(`${"report in".padEnd(16)} ${describeReporting(reporting)}`);
}
