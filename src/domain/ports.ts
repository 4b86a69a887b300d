/** The ways in which the outside reaches pure code: time and chance, made in process/clock.ts and passed in. */
export interface Ports {
  /** Service time: for everything stored or scheduled. May run fast in demos and tests. */
  now(): Date;
  /** Real time: leases, network time-outs, rate limits, page tokens. */
  realNow(): Date;
  /** Milliseconds that never jump, for measuring durations. */
  monotonicMs(): number;
  /** How fast service time runs against real time; 1 but for demos and tests. */
  clockRate: number;
  /** Bytes nobody can predict. */
  randomBytes(size: number): Buffer;
  /** A UUIDv7 whose time is service time. */
  newId(): string;
}
