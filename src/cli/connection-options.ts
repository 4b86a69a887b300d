import { type ConnectionSettings, END_CHOICES, type EndChoice, type MessageSettings } from "../domain/connection.ts";
import { type CommandOptions, integerOption, type OptionValues, textOption, UsageError } from "./command.ts";

const HISTORY_MONTHS = 13;
const DAYS_PER_MONTH = 30.5;
const DEFAULT_PORT = 8444;
const LOCAL = "local";
const ENDPOINT_PATH = "/dunlin";
const MESSAGE_DEFAULTS: MessageSettings = {
  templates: null,
  zone: "UTC",
  quietFrom: 20,
  quietTo: 8,
  most: 3,
  everyDays: 4,
};

export const CONNECTION_OPTIONS: CommandOptions = {
  "when-over": { type: "string" },
  months: { type: "string" },
  "public-url": { type: "string" },
  messages: { type: "string" },
  templates: { type: "string" },
  zone: { type: "string" },
  "quiet-hours": { type: "string" },
  mails: { type: "string" },
  "mail-days": { type: "string" },
  port: { type: "string" },
  host: { type: "string" },
  "endpoint-url": { type: "string" },
};

export const CONNECTION_USAGE = `
  --when-over A            an invoice that is still open when its recovery ends: ${END_CHOICES.join(" | ").replaceAll("_", "-")} (give-back)
  --months N               how much history to read at first (${HISTORY_MONTHS})
  --public-url U           the address under which Stripe and your customers reach this command, by your proxy
  --messages on|off        mails that ask customers for another card (off); they need DUNLIN_SMTP_URL and --public-url
  --templates D            a folder with your own card-change.LANGUAGE.md files; a subfolder is a brand
  --zone Z                 time zone of the quiet hours (UTC)
  --quiet-hours A-B        hours without mails (${MESSAGE_DEFAULTS.quietFrom}-${MESSAGE_DEFAULTS.quietTo}); 0-0: none
  --mails N                mails per invoice at most (${MESSAGE_DEFAULTS.most})
  --mail-days N            days between two mails about an invoice (${MESSAGE_DEFAULTS.everyDays})
  --port N                 where to listen (${DEFAULT_PORT})
  --host H                 the address to listen on (127.0.0.1)
  --endpoint-url U         the address under which Dunlin reaches this command, if it runs on another machine; local: on this one`;

const FIRST: ConnectionSettings = {
  whenOver: "give_back",
  historyDays: Math.round(HISTORY_MONTHS * DAYS_PER_MONTH),
  messages: null,
  publicUrl: null,
  host: "127.0.0.1",
  port: DEFAULT_PORT,
  endpointUrl: null,
};

/** Returns the merchant's webhook endpoint while the connection lasts. */
export function endpointOf(settings: ConnectionSettings): string {
  const { endpointUrl, port } = { ...FIRST, ...settings };
  return endpointUrl ?? `https://127.0.0.1:${port}${ENDPOINT_PATH}`;
}

/** @param stored  settings that the options change; null: a new connection */
export function readConnectionSettings(values: OptionValues, stored: ConnectionSettings | null): ConnectionSettings {
  const settings = { ...FIRST, ...stored };
  const months = integerOption(values, "months", 0, 120);
  return {
    whenOver: readChoice(textOption(values, "when-over")) ?? settings.whenOver,
    historyDays: months === undefined ? settings.historyDays : Math.round(months * DAYS_PER_MONTH),
    publicUrl: readPublicUrl(textOption(values, "public-url")) ?? settings.publicUrl,
    messages: readMessages(values, settings.messages),
    host: textOption(values, "host") ?? settings.host,
    port: integerOption(values, "port", 1, 65_535) ?? settings.port,
    endpointUrl: readEndpointUrl(textOption(values, "endpoint-url"), settings.endpointUrl),
  };
}

/** The connector takes Dunlin's webhooks at one path; a proxy may have another one. */
function readEndpointUrl(text: string | undefined, stored: string | null): string | null {
  if (text === undefined) return stored;
  if (text === LOCAL) return null;
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url?.protocol !== "https:")
    throw new UsageError(
      `--endpoint-url takes an address with https, such as https://connector.internal:8444, or ${LOCAL}, not "${text}".`,
    );
  return url.pathname === "/" ? `${url.origin}${ENDPOINT_PATH}` : url.href;
}

function readChoice(text: string | undefined): EndChoice | undefined {
  const choice = END_CHOICES.find((each) => each.replaceAll("_", "-") === text);
  if (text !== undefined && !choice)
    throw new UsageError(`--when-over takes ${END_CHOICES.join(", ").replaceAll("_", "-")}, not "${text}".`);
  return choice;
}

function readPublicUrl(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  if (URL.canParse(text) && new URL(text).protocol === "https:") return text.replace(/\/$/, "");
  throw new UsageError(`--public-url takes an address with https, such as https://pay.example.com, not "${text}".`);
}

const DETAILS = ["templates", "zone", "quiet-hours", "mails", "mail-days"] as const;

function readMessages(values: OptionValues, stored: MessageSettings | null): MessageSettings | null {
  const isOn = textOption(values, "messages") ?? (stored ? "on" : "off");
  if (isOn !== "on" && isOn !== "off") throw new UsageError(`--messages takes on or off, not "${isOn}".`);
  const detail = DETAILS.find((name) => values[name] !== undefined);
  if (isOn === "off") {
    if (detail) throw new UsageError(`--${detail} needs --messages on.`);
    return null;
  }
  const settings = stored ?? MESSAGE_DEFAULTS;
  const hours = readQuietHours(textOption(values, "quiet-hours"));
  return {
    templates: textOption(values, "templates") ?? settings.templates,
    zone: readZone(textOption(values, "zone")) ?? settings.zone,
    quietFrom: hours?.[0] ?? settings.quietFrom,
    quietTo: hours?.[1] ?? settings.quietTo,
    most: integerOption(values, "mails", 1, 10) ?? settings.most,
    everyDays: integerOption(values, "mail-days", 1, 28) ?? settings.everyDays,
  };
}

function readZone(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  try {
    return new Intl.DateTimeFormat("en", { timeZone: text }).resolvedOptions().timeZone;
  } catch {
    throw new UsageError(`--zone takes a time zone such as Europe/Berlin, not "${text}".`);
  }
}

function readQuietHours(text: string | undefined): [from: number, to: number] | undefined {
  if (text === undefined) return undefined;
  const [, from, to] = /^(\d{1,2})-(\d{1,2})$/.exec(text) ?? [];
  if (from === undefined || Number(from) > 23 || Number(to) > 23)
    throw new UsageError(`--quiet-hours takes two hours such as 20-8, not "${text}".`);
  return [Number(from), Number(to)];
}
