import { closeSync, openSync } from "node:fs";
import { devNull } from "node:os";
import type { Logger as Log } from "pino";
import type { Settings } from "../config/config.ts";
import type { Tls } from "../http/listener.ts";
import { type Heartbeat, startHeartbeat } from "../process/heartbeat.ts";
import { createLoggedProblems, type LoggedProblems } from "../process/logged-problems.ts";
import type { Store } from "../process/open-store.ts";
import { readVersion } from "../process/version.ts";
import type { Metrics } from "./metrics.ts";
import { createServiceFigures, readFreeBytes, type ServiceFigures } from "./service-figures.ts";

/** Returns the state of the database, its clock, this machine's disk and the certificates. @param tls  the certificate for callers; null: this process serves none */
export function addStoreMetrics(
  { db, walled, owner, ports, clock }: Pick<Store, "db" | "walled" | "owner" | "ports" | "clock">,
  { webhookClientCertificate, dataDir }: Pick<Settings, "webhookClientCertificate" | "dataDir">,
  tls: Tls | null,
): ServiceFigures {
  const none = { open: 0, idle: 0, waiting: 0 };
  return createServiceFigures({
    db,
    owner,
    ports,
    pools: { worker: () => db.figures?.() ?? none, api: () => walled.figures?.() ?? none },
    certificates: {
      ...(tls && tls !== "proxy" && { api: tls.cert }),
      ...(webhookClientCertificate && { webhooks: webhookClientCertificate.cert }),
    },
    freeBytes: () => readFreeBytes(dataDir),
    clock: () => clock.figures(),
  });
}

/** Tells the other processes of this one, and shows in the metrics how all of them stand. */
export function startProcessHeartbeat(
  metrics: Metrics,
  { db, ports }: Store,
  options: { roles: ReadonlySet<string>; log: Log; troubles?: LoggedProblems | undefined },
): Heartbeat {
  const { roles, log, troubles = createLoggedProblems(ports.realNow) } = options;
  const { pid } = process;
  const tryFile = () => closeSync(openSync(devNull, "r"));
  const presence = startHeartbeat({
    db,
    ports,
    log,
    version: readVersion(),
    roles: [...roles],
    troubles,
    pid,
    tryFile,
  });
  metrics.watchPresence(presence.figures, troubles);
  return presence;
}
