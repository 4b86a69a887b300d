import { setTimeout as sleep } from "node:timers/promises";
import { runDunlin } from "../harness/service-fleet.ts";
import type { Worker } from "./service-worker.ts";

/** A fault must be visible everywhere within this long. */
const EVIDENCE_MS_MAX = 60_000;
const POLL_MS = 1_000;
const DOCTOR_MS_MAX = 20_000;
/** Starting the command takes up to 1 s of CPU, which the services then lack. It is asked again after a third of the time so far. */
const DOCTOR_PAUSE = 1 / 3;

type Samples = ReadonlyMap<string, number>;

/** The signs by which an operator sees a fault. */
export interface ExpectedEvidence {
  /** A line of some process's log, at level warn or above. */
  log: RegExp;
  /** Names of warnings whose count grows in a process's metrics. */
  warns?: RegExp;
  /** Whether the metrics of some process show it, or do not answer. */
  metric?: ((samples: Samples, before: Samples) => boolean) | "no answer";
  /** A line of the command's output, or a warning of a process that was logged after the fault began. */
  doctor: { says: RegExp } | { troubles: RegExp };
}

export const EVIDENCE_PLACES = ["log", "metric", "doctor"] as const;
type EvidencePlace = (typeof EVIDENCE_PLACES)[number];

/** The milliseconds until a fault was visible in each place; null: not within a minute. Also the command's last output. */
export type SeenEvidence = Record<EvidencePlace, number | null> & { told: string };

/**
 * Begins to look for a fault that begins now.
 *
 * @param operatorAt  the worker on whose machine the operator sits
 * @param program  the folder of the program that the operator calls
 */
export async function startCollecting(
  workers: readonly Worker[],
  evidence: ExpectedEvidence,
  operatorAt: Worker,
  program: () => string,
) {
  const before = await Promise.all(workers.map(async (worker) => (await worker.scrape()) ?? new Map<string, number>()));
  const from = Date.now();
  const seen: SeenEvidence = { log: null, metric: null, doctor: null, told: "" };
  const note = (place: EvidencePlace) => {
    seen[place] ??= Date.now() - from;
  };

  async function lookAtMetrics() {
    const found = await Promise.all(workers.map((worker) => worker.scrape()));
    const isSeen = found.some((samples, index) => {
      if (evidence.metric === "no answer") return samples === null;
      if (samples === null) return false;
      if (evidence.metric) return evidence.metric(samples, before[index]!);
      return hasWarned(samples, before[index]!, evidence.warns!);
    });
    if (isSeen) note("metric");
  }

  let nextDoctorAt = from;
  async function lookAtDoctor() {
    if (Date.now() < nextDoctorAt) return;
    const text = await runDoctor(operatorAt, program());
    seen.told = text;
    if (isReported(text, evidence.doctor, (Date.now() - from) / 1_000)) note("doctor");
    nextDoctorAt = Date.now() + DOCTOR_PAUSE * (Date.now() - from);
  }

  const looking = (async () => {
    while (Date.now() - from < EVIDENCE_MS_MAX && EVIDENCE_PLACES.some((place) => seen[place] === null)) {
      if (workers.some(({ lines }) => lines.some((line) => line.at >= from && evidence.log.test(line.text))))
        note("log");
      await Promise.all([
        seen.metric === null ? lookAtMetrics() : null,
        seen.doctor === null ? lookAtDoctor() : null,
        sleep(POLL_MS),
      ]);
    }
  })();
  return async (): Promise<SeenEvidence> => {
    await looking;
    return seen;
  };
}

function hasWarned(samples: Samples, before: Samples, names: RegExp): boolean {
  // A process that has started since also warns of earlier faults.
  if (samples.get("process_start_time_seconds") !== before.get("process_start_time_seconds")) return false;
  return [...samples].some(([key, value]) => {
    const [, name] = /^dunlin_warnings_total\{name="([^"]+)"\}$/.exec(key) ?? [];
    return name !== undefined && names.test(name) && value > (before.get(key) ?? 0);
  });
}

/** The command ends with an error when it finds one, so its output counts either way. */
const runDoctor = async ({ environment }: Worker, program: string): Promise<string> =>
  (await runDunlin(environment, ["doctor"], { program, limitMs: DOCTOR_MS_MAX })).text;

/** @param sinceS  seconds since the fault began; earlier log lines do not count */
function isReported(text: string, told: ExpectedEvidence["doctor"], sinceS: number): boolean {
  if ("says" in told) return text.split("\n").some((line) => told.says.test(line));
  if (/^fail +database/m.test(text)) return true;
  return [...text.matchAll(/([a-z_]+\.[a-z_-]+) \(\d+ times, last (\d+) s ago\)/g)].some(
    ([, name, ago]) => told.troubles.test(name!) && Number(ago) <= sinceS,
  );
}
