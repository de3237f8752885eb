/**
 * A pickle machine that can build data and nothing else: texts, numbers, lists, tuples, dictionaries. Names of classes
 * and functions are handed to the caller, who knows a short list of them; no code is looked up, imported or run.
 * Whatever is not needed for such data is refused by name.
 */

/** Why a pickle is refused; a clause without a full stop, to be put behind "the file". */
export class PickleRefusal extends Error {
  override readonly name = 'PickleRefusal'
}

export class PyTuple {
  constructor(readonly items: readonly PickleValue[]) {}
}

export class PyList {
  readonly items: PickleValue[] = []
}

/** A dict or OrderedDict; the order of the pickle is kept. */
export class PyDict {
  readonly entries = new Map<string | number | bigint, PickleValue>()
}

/** A class or function that the caller has admitted by name. It is never called by this machine. */
export class PyGlobal {
  constructor(readonly name: string) {}
}

/** What the caller makes of admitted names and persistent ids. */
export interface Foreign {
  readonly foreign: true
}

export type PickleValue = string | number | bigint | boolean | null | PyTuple | PyList | PyDict | PyGlobal | Foreign

export interface PickleRules {
  /** Admitted names, as "module.name". */
  readonly globals: ReadonlySet<string>
  /** What calling an admitted name with these arguments gives. */
  readonly call: (name: string, args: readonly PickleValue[]) => PickleValue
  /** What a persistent id stands for. */
  readonly persistent: (id: PickleValue) => PickleValue
}

const highestProtocol = 5

/** Reads one pickle from `start`; returns its value and the place after it. Throws PickleRefusal. Takes no more memory than a small multiple of its bytes. */
export function readPickle(bytes: Uint8Array, start: number, rules: PickleRules): { value: PickleValue; end: number } {
  return new Machine(bytes, start, rules).run()
}

const mark = Symbol('mark')

class Machine {
  private readonly stack: (PickleValue | typeof mark)[] = []
  private readonly memo = new Map<number, PickleValue>()
  private readonly view: DataView

  constructor(
    private readonly bytes: Uint8Array,
    private at: number,
    private readonly rules: PickleRules,
  ) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  run(): { value: PickleValue; end: number } {
    for (;;) {
      const opcode = this.take(1)
      if (this.bytes[opcode] === 0x2e) return { value: this.pop(), end: this.at }
      this.step(this.bytes[opcode])
    }
  }

  private step(opcode: number): void {
    switch (opcode) {
      case 0x80: {
        const protocol = this.uint8()
        if (protocol > highestProtocol) throw new PickleRefusal(`uses pickle protocol ${protocol}, which is not known`)
        return
      }
      case 0x95: // FRAME: a hint for streaming
        this.take(8)
        return
      case 0x28:
        this.stack.push(mark)
        return
      case 0x4e:
        return this.push(null)
      case 0x88:
        return this.push(true)
      case 0x89:
        return this.push(false)
      case 0x4b:
        return this.push(this.uint8())
      case 0x4d:
        return this.push(this.view.getUint16(this.take(2), true))
      case 0x4a:
        return this.push(this.view.getInt32(this.take(4), true))
      case 0x8a:
        return this.push(this.long(this.uint8()))
      case 0x47:
        return this.push(this.view.getFloat64(this.take(8), false))
      case 0x58:
        return this.push(this.text(this.uint32()))
      case 0x8c:
        return this.push(this.text(this.uint8()))
      case 0x53:
        return this.push(this.quoted())
      case 0x29:
        return this.push(new PyTuple([]))
      case 0x85:
        return this.push(new PyTuple(this.popMany(1)))
      case 0x86:
        return this.push(new PyTuple(this.popMany(2)))
      case 0x87:
        return this.push(new PyTuple(this.popMany(3)))
      case 0x74:
        return this.push(new PyTuple(this.popToMark()))
      case 0x5d:
        return this.push(new PyList())
      case 0x61:
        return this.append([this.pop()])
      case 0x65:
        return this.append(this.popToMark())
      case 0x7d:
        return this.push(new PyDict())
      case 0x73:
        return this.setItems(this.popMany(2))
      case 0x75:
        return this.setItems(this.popToMark())
      case 0x71:
        return this.put(this.uint8())
      case 0x72:
        return this.put(this.uint32())
      case 0x94:
        return this.put(this.memo.size)
      case 0x68:
        return this.get(this.uint8())
      case 0x6a:
        return this.get(this.uint32())
      case 0x63:
        return this.global(this.line(), this.line())
      case 0x93: {
        const [module, name] = this.popMany(2)
        if (typeof module !== 'string' || typeof name !== 'string')
          throw new PickleRefusal('names a class without a name')
        return this.global(module, name)
      }
      case 0x51:
        return this.push(this.rules.persistent(this.pop()))
      case 0x52: {
        const [callee, args] = this.popMany(2)
        if (!(callee instanceof PyGlobal) || !(args instanceof PyTuple))
          throw new PickleRefusal('calls something that is no function')
        return this.push(this.rules.call(callee.name, args.items))
      }
      case 0x62:
        return this.build()
      default:
        throw this.refuse(opcode)
    }
  }

  /** Attributes of a dictionary (torch notes module versions there) are read and dropped; other objects have none. */
  private build(): void {
    const [object, state] = this.popMany(2)
    if (!(object instanceof PyDict) || !(state instanceof PyDict))
      throw new PickleRefusal('sets attributes of an object')
    this.push(object)
  }

  private global(module: string, name: string): void {
    const full = `${module}.${name}`
    if (!this.rules.globals.has(full))
      throw new PickleRefusal(`wants to use ${printable(full)}, which is not part of tensor data`)
    this.push(new PyGlobal(full))
  }

  private append(items: readonly PickleValue[]): void {
    const list = this.pop()
    if (!(list instanceof PyList)) throw new PickleRefusal('appends to something that is no list')
    for (const item of items) list.items.push(item)
    this.push(list)
  }

  private setItems(items: readonly PickleValue[]): void {
    const dict = this.pop()
    if (!(dict instanceof PyDict) || items.length % 2 !== 0)
      throw new PickleRefusal('sets entries of something that is no dictionary')
    for (let i = 0; i < items.length; i += 2) {
      const key = items[i]
      if (typeof key !== 'string' && typeof key !== 'number' && typeof key !== 'bigint')
        throw new PickleRefusal('has a dictionary key that is neither a text nor a number')
      dict.entries.set(key, items[i + 1])
    }
    this.push(dict)
  }

  private put(index: number): void {
    const value = this.pop()
    this.memo.set(index, value)
    this.push(value)
  }

  private get(index: number): void {
    const value = this.memo.get(index)
    if (value === undefined) throw new PickleRefusal('refers to a value that it has not defined')
    this.push(value)
  }

  private push(value: PickleValue): void {
    this.stack.push(value)
  }

  private pop(): PickleValue {
    const value = this.stack.pop()
    if (value === undefined || value === mark) throw new PickleRefusal('is not a valid pickle (a value is missing)')
    return value
  }

  private popMany(count: number): PickleValue[] {
    return Array.from({ length: count }, () => this.pop()).reverse()
  }

  private popToMark(): PickleValue[] {
    const at = this.stack.lastIndexOf(mark)
    if (at < 0) throw new PickleRefusal('is not a valid pickle (a mark is missing)')
    return this.stack.splice(at).slice(1) as PickleValue[]
  }

  /** A signed little-endian integer of so many bytes; a number where that is exact. */
  private long(length: number): number | bigint {
    const at = this.take(length)
    let value = 0n
    for (let i = length - 1; i >= 0; i--) value = (value << 8n) | BigInt(this.bytes[at + i])
    const signed = BigInt.asIntN(8 * length, value)
    return Number.isSafeInteger(Number(signed)) ? Number(signed) : signed
  }

  private text(length: number): string {
    const at = this.take(length)
    return decode(this.bytes.subarray(at, at + length))
  }

  /** A text as protocol 0 writes it; one with escapes needs no understanding here. */
  private quoted(): string {
    const found = /^(['"])([^\\]*)\1$/.exec(this.line())
    if (!found) throw new PickleRefusal('is not a valid pickle (a text is not quoted)')
    return found[2]
  }

  private line(): string {
    const end = this.bytes.indexOf(0x0a, this.at)
    if (end < 0 || end - this.at > 1000) throw new PickleRefusal('is not a valid pickle (a name does not end)')
    const text = decode(this.bytes.subarray(this.at, end))
    this.at = end + 1
    return text
  }

  private uint8(): number {
    return this.bytes[this.take(1)]
  }

  private uint32(): number {
    return this.view.getUint32(this.take(4), true)
  }

  /** Moves past so many bytes and says where they began. */
  private take(length: number): number {
    const at = this.at
    if (at + length > this.bytes.length) throw new PickleRefusal('ends in the middle of its pickle')
    this.at += length
    return at
  }

  private refuse(opcode: number): PickleRefusal {
    // INST names its class in two lines that are worth telling.
    if (opcode === 0x69)
      return new PickleRefusal(
        `wants to use ${printable(`${this.line()}.${this.line()}`)} (pickle instruction INST), which is not part of tensor data`,
      )
    const name = refusedNames[opcode]
    return new PickleRefusal(
      name ? `uses the pickle instruction ${name}, which is not part of tensor data` : 'is not a valid pickle',
    )
  }
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new PickleRefusal('is not a valid pickle (a text is not UTF-8)')
  }
}

/** A name from a file that is not trusted, fit for a message. */
function printable(name: string): string {
  return name.replace(/[^\x20-\x7e]/g, '?').slice(0, 200)
}

const refusedNames: Record<number, string | undefined> = {
  0x30: 'POP',
  0x31: 'POP_MARK',
  0x32: 'DUP',
  0x46: 'FLOAT',
  0x49: 'INT',
  0x4c: 'LONG',
  0x50: 'PERSID',
  0x54: 'BINSTRING',
  0x55: 'SHORT_BINSTRING',
  0x56: 'UNICODE',
  0x42: 'BINBYTES',
  0x43: 'SHORT_BINBYTES',
  0x64: 'DICT',
  0x67: 'GET',
  0x6c: 'LIST',
  0x6f: 'OBJ',
  0x70: 'PUT',
  0x81: 'NEWOBJ',
  0x82: 'EXT1',
  0x83: 'EXT2',
  0x84: 'EXT4',
  0x8b: 'LONG4',
  0x8d: 'BINUNICODE8',
  0x8e: 'BINBYTES8',
  0x8f: 'EMPTY_SET',
  0x90: 'ADDITEMS',
  0x91: 'FROZENSET',
  0x92: 'NEWOBJ_EX',
  0x96: 'BYTEARRAY8',
  0x97: 'NEXT_BUFFER',
  0x98: 'READONLY_BUFFER',
}
