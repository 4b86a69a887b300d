import type { Command } from "./command.ts";

/** In the help's order. Loaded on demand, because some load the whole service. */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  serve: async () => (await import("./serve.ts")).serve,
  demo: async () => (await import("./demo.ts")).demo,
  doctor: async () => (await import("./doctor.ts")).doctor,
  trust: async () => (await import("./trust.ts")).trust,
  "merchant create": async () => (await import("./merchant-commands.ts")).merchantCreate,
  "merchant set": async () => (await import("./merchant-commands.ts")).merchantSet,
  "merchant list": async () => (await import("./merchant-commands.ts")).merchantList,
  "merchant delete": async () => (await import("./merchant-delete.ts")).merchantDelete,
  invite: async () => (await import("./invite.ts")).invite,
  "key create": async () => (await import("./key-commands.ts")).keyCreate,
  "key list": async () => (await import("./key-commands.ts")).keyList,
  "key rotate": async () => (await import("./key-commands.ts")).keyRotate,
  "key revoke": async () => (await import("./key-commands.ts")).keyRevoke,
  import: async () => (await import("./import.ts")).importHistory,
  backup: async () => (await import("./backup.ts")).backup,
  restore: async () => (await import("./backup.ts")).restore,
  move: async () => (await import("./backup.ts")).move,
  "secret-key rotate": async () => (await import("./secret-key.ts")).secretKeyRotate,
  "secret-key reset": async () => (await import("./secret-key.ts")).secretKeyReset,
  "erase customer": async () => (await import("./erase.ts")).eraseCustomer,
  export: async () => (await import("./export.ts")).exportHistory,
  "request list": async () => (await import("./request-commands.ts")).requestList,
  "request show": async () => (await import("./request-commands.ts")).requestShow,
  explain: async () => (await import("./explain.ts")).explain,
  attention: async () => (await import("./attention.ts")).attention,
  "notifications show": async () => (await import("./notification-commands.ts")).notificationsShow,
  "notifications set": async () => (await import("./notification-commands.ts")).notificationsSet,
  "notifications test": async () => (await import("./notification-commands.ts")).notificationsTest,
  "notifications remove": async () => (await import("./notification-commands.ts")).notificationsRemove,
  "recovery stop": async () => (await import("./recovery-commands.ts")).recoveryStop,
  "recovery retry-now": async () => (await import("./recovery-commands.ts")).recoveryRetryNow,
  "recovery postpone": async () => (await import("./recovery-commands.ts")).recoveryPostpone,
  "rules list": async () => (await import("./rules-commands.ts")).rulesList,
  "rules set": async () => (await import("./rules-commands.ts")).rulesSet,
  "rules test": async () => (await import("./rules-commands.ts")).rulesTest,
  "delivery list": async () => (await import("./delivery-commands.ts")).deliveryList,
  "delivery show": async () => (await import("./delivery-commands.ts")).deliveryShow,
  "delivery replay": async () => (await import("./delivery-commands.ts")).deliveryReplay,
  "webhook test": async () => (await import("./webhook-test.ts")).webhookTest,
  listen: async () => (await import("./listen.ts")).listen,
  trigger: async () => (await import("./trigger.ts")).trigger,
  "webhook secret rotate": async () => (await import("./webhook-secret.ts")).webhookSecretRotate,
  "webhook secret remove": async () => (await import("./webhook-secret.ts")).webhookSecretRemove,
  "experiment start": async () => (await import("./experiment-commands.ts")).experimentStart,
  "experiment create": async () => (await import("./experiment-commands.ts")).experimentCreate,
  "experiment stop": async () => (await import("./experiment-commands.ts")).experimentStop,
  "experiment list": async () => (await import("./experiment-commands.ts")).experimentList,
  "experiment show": async () => (await import("./experiment-commands.ts")).experimentShow,
  shadow: async () => (await import("./shadow.ts")).shadow,
  backtest: async () => (await import("./backtest.ts")).backtestCommand,
  "connect stripe": async () => (await import("./connect-stripe.ts")).connectStripe,
  simulate: async () => (await import("./simulate.ts")).simulate,
};

export const COMMAND_NAMES: readonly string[] = Object.keys(COMMANDS);

export const findCommand = async (name: string): Promise<Command | undefined> =>
  Object.hasOwn(COMMANDS, name) ? COMMANDS[name]!() : undefined;

export const loadAllCommands = (): Promise<Command[]> => Promise.all(Object.values(COMMANDS).map((load) => load()));
