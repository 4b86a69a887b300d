/** Passed to pure code by process/clock.ts. */
export interface Ports {
  /** Service time, for everything stored or scheduled. May run fast in demos and tests. */
  now(): Date;
  /** For leases, time-outs, rate limits and page tokens. */
  realNow(): Date;
  /** Never jumps; for durations. */
  monotonicMs(): number;
  /** Service time per real time. */
  clockRate: number;
  /** Cryptographically secure. */
  randomBytes(size: number): Buffer;
  /** UUIDv7 with service time. */
  newId(): string;
}
