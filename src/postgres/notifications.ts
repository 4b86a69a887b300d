import { prepared, type Tx } from "./database.ts";

/** Messages between processes: merchants with new events, cases to process, withdrawn events, a trained model, a new process. */
export type Channel = "events" | "cases" | "withdrawn" | "learned" | "hello";

export interface ChannelMessage {
  channel: Channel;
  /** Less than 8,000 bytes. */
  payload: string;
}

const IDS_MAX = 180;

/** As few as possible, each starting with `first`. */
export function payloadsOf(ids: readonly string[], first: readonly string[] = []): string[] {
  const payloads: string[] = [];
  for (let from = 0; from < ids.length; from += IDS_MAX)
    payloads.push([...first, ...ids.slice(from, from + IDS_MAX)].join(" "));
  return payloads;
}

export const withdrawnMessages = (merchantId: string, eventIds: readonly string[]): ChannelMessage[] =>
  payloadsOf(eventIds, [merchantId]).map((payload) => ({ channel: "withdrawn", payload }));

const CHANNEL_PREFIX = "dunlin_";
const LISTENER_NAME = "dunlin hints";

// Only hints, so they need not survive a server crash.
const ANNOUNCE = prepared(
  "announce_hints",
  "select set_config('application_name', $1, false), set_config('synchronous_commit', 'off', false)",
);

/** For `findOtherListeners`. */
export async function announceListener(connection: Tx, channels: readonly Channel[]) {
  await connection.run(ANNOUNCE, [[LISTENER_NAME, ...channels].join(" ")]);
}

const LISTEN = Object.fromEntries(
  (["events", "cases", "withdrawn", "learned", "hello"] as const).map((channel) => [
    channel,
    prepared(`listen_${channel}`, `listen ${CHANNEL_PREFIX}${channel}`),
  ]),
) as Record<Channel, ReturnType<typeof prepared>>;

export async function listenOn(connection: Tx, channel: Channel) {
  await connection.run(LISTEN[channel]);
}

export const parseChannel = (name: string): Channel | null => {
  const channel = name.slice(CHANNEL_PREFIX.length) as Channel;
  return name.startsWith(CHANNEL_PREFIX) && channel in LISTEN ? channel : null;
};

const NOTIFY = prepared(
  "notify",
  "select pg_notify($1 || n.channel, n.payload) from unnest($2::text[], $3::text[]) as n (channel, payload)",
);

/** Needs a separate connection, because the commit takes a lock that all notifying sessions share. */
export async function notify(connection: Tx, messages: readonly ChannelMessage[]) {
  await connection.run(NOTIFY, [
    CHANNEL_PREFIX,
    messages.map(({ channel }) => channel),
    messages.map(({ payload }) => payload),
  ]);
}

const OTHER_LISTENERS = prepared(
  "other_hint_listeners",
  `select distinct other.application_name as name
   from pg_stat_activity me join pg_stat_activity other on other.datname = me.datname and other.pid <> me.pid
   where me.pid = pg_backend_pid() and other.application_name like '${LISTENER_NAME} %'`,
);

/** On other connections to this database. */
export async function findOtherListeners(connection: Tx): Promise<Set<Channel>> {
  const { rows } = await connection.run<{ name: string }>(OTHER_LISTENERS);
  return new Set(rows.flatMap(({ name }) => name.slice(LISTENER_NAME.length + 1).split(" ")) as Channel[]);
}
