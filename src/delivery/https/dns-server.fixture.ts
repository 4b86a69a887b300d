import { createSocket } from "node:dgram";
import { once } from "node:events";
import { type AddressInfo, createServer, isIPv6, type Socket } from "node:net";

const RECORD_TYPES = { A: 1, CNAME: 5, AAAA: 28 } as const;
export type RecordType = keyof typeof RECORD_TYPES;

export interface DnsQuestion {
  /** In lower case, without the last dot. */
  name: string;
  type: RecordType;
  over: "udp" | "tcp";
  /** How often this name was asked for with this type before. */
  before: number;
}

export interface DnsReply {
  /**
   * In the order of the answer: `A 192.0.2.1`, `AAAA 2001:db8::1` or `CNAME other.example`, then perhaps a time to live
   * in seconds (0). What follows a CNAME belongs to its target.
   */
  records?: readonly string[];
  /** 3: there is no such name. 2: this server is broken. */
  code?: 0 | 2 | 3;
  /** Tells the asker to come again by TCP. */
  truncated?: boolean;
}

export interface DnsServer {
  /** For the setting of the same name. */
  servers: string[];
  asked: DnsQuestion[];
  close(): void;
}

/** A name server on 127.0.0.1, UDP and TCP on one port. `answer` says undefined to swallow the question. */
export async function startDnsServer(answer: (question: DnsQuestion) => DnsReply | undefined): Promise<DnsServer> {
  const asked: DnsQuestion[] = [];
  const counts = new Map<string, number>();

  function replyTo(message: Buffer, over: "udp" | "tcp"): Buffer | undefined {
    const { name, at } = readName(message);
    const number = message.readUInt16BE(at);
    const type = (Object.keys(RECORD_TYPES) as RecordType[]).find((each) => RECORD_TYPES[each] === number);
    if (type === undefined) throw new Error(`nobody should ask for type ${number}`);
    const before = counts.get(`${name} ${type}`) ?? 0;
    counts.set(`${name} ${type}`, before + 1);
    const question = { name, type, over, before };
    asked.push(question);
    const reply = answer(question);
    return reply && encodeReply(message.subarray(0, at + 4), name, reply);
  }

  const tcp = createServer((socket) => {
    socket.on("error", () => {});
    let read = Buffer.alloc(0);
    socket.on("data", (bytes: Buffer) => {
      read = Buffer.concat([read, bytes]);
      while (read.length >= 2 && read.length >= 2 + read.readUInt16BE(0)) {
        const reply = replyTo(read.subarray(2, 2 + read.readUInt16BE(0)), "tcp");
        read = read.subarray(2 + read.readUInt16BE(0));
        if (reply) socket.write(Buffer.concat([uint16(reply.length), reply]));
      }
    });
  });
  const streams = new Set<Socket>();
  tcp.on("connection", (socket) => streams.add(socket));
  tcp.listen(0, "127.0.0.1");
  await once(tcp, "listening");
  const { port } = tcp.address() as AddressInfo;
  const udp = createSocket("udp4");
  udp.on("message", (message, from) => {
    const reply = replyTo(message, "udp");
    if (reply) udp.send(reply, from.port, from.address);
  });
  udp.bind(port, "127.0.0.1");
  await once(udp, "listening");
  return {
    servers: [`127.0.0.1:${port}`],
    asked,
    close() {
      udp.close();
      for (const socket of streams) socket.destroy();
      tcp.close();
    },
  };
}

const uint16 = (number: number) => Buffer.from([number >> 8, number & 255]);

/** The name in the question, and where it ends. */
function readName(message: Buffer) {
  const labels: string[] = [];
  let at = 12;
  for (; message[at] !== 0; at += message[at]! + 1)
    labels.push(message.toString("latin1", at + 1, at + 1 + message[at]!));
  return { name: labels.join(".").toLowerCase(), at: at + 1 };
}

/** @param head  header and question as they came */
function encodeReply(head: Buffer, name: string, { records = [], code = 0, truncated = false }: DnsReply): Buffer {
  const header = Buffer.from(head.subarray(0, 12));
  header.writeUInt16BE(0x8180 | code | (truncated ? 0x200 : 0), 2);
  header.writeUInt16BE(truncated ? 0 : records.length, 6);
  // No additional section: the asker's own EDNS record is not given back.
  header.writeUInt16BE(0, 8);
  header.writeUInt16BE(0, 10);
  let owner = name;
  const encoded = records.map((text) => {
    const [type, value, ttl] = text.split(" ") as [RecordType, string, string | undefined];
    const data = type === "CNAME" ? encodeName(value) : addressBytes(value);
    const life = Buffer.alloc(4);
    life.writeUInt32BE(Number(ttl ?? 0));
    const record = [encodeName(owner), uint16(RECORD_TYPES[type]), uint16(1), life, uint16(data.length), data];
    if (type === "CNAME") owner = value;
    return Buffer.concat(record);
  });
  return Buffer.concat([header, head.subarray(12), ...(truncated ? [] : encoded)]);
}

const encodeName = (name: string) =>
  Buffer.concat([...name.split(".").map((label) => Buffer.from([label.length, ...Buffer.from(label)])), Buffer.of(0)]);

/** The 4 or 16 bytes of an address, read without the library that the guard reads with. */
export function addressBytes(address: string): Buffer {
  if (!isIPv6(address)) return Buffer.from(address.split(".").map(Number));
  const dotted = /[\d.]*$/.exec(address)?.[0] ?? "";
  const [a = 0, b = 0, c = 0, d = 0] = dotted.split(".").map(Number);
  const plain = dotted.includes(".")
    ? `${address.slice(0, -dotted.length)}${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`
    : address;
  const [left = "", right] = plain.split("::");
  const groups = (text: string) => (text === "" ? [] : text.split(":"));
  const tail = right === undefined ? [] : groups(right);
  const missing = 8 - groups(left).length - tail.length;
  const all = [...groups(left), ...Array<string>(missing).fill("0"), ...tail];
  return Buffer.concat(all.map((group) => uint16(Number.parseInt(group, 16))));
}
