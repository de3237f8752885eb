/**
 * Finds the rows of a JSON list, or of a list in a field of a JSON object, in a stream of any length: only brackets and quotes are
 * followed, each row is handed over as it stands.
 */
export type ListEnd =
  | { readonly kind: 'list' }
  /** The object lacks the field, or it holds no list; `lists`: fields that do. */
  | { readonly kind: 'no-list'; readonly present: boolean; readonly lists: readonly string[] }
  /** A second value follows the first. */
  | { readonly kind: 'several-values' }
  | { readonly kind: 'wrong'; readonly why: string }

type State =
  | 'start'
  | 'key-or-end'
  | 'key'
  | 'colon'
  | 'value'
  | 'skip'
  | 'after-value'
  | 'element-or-end'
  | 'element'
  | 'after-element'
  | 'after-root'
  | 'ended'

/** Keys are short; anything longer is a text whose closing quote is missing. */
const longestKey = 1 << 16
/** JavaScript texts end near 512 MiB. */
const longestElement = 500 * 2 ** 20

const isSpace = (byte: number): boolean => byte === 32 || byte === 10 || byte === 13 || byte === 9

export class JsonListReader {
  private state: State = 'start'
  /** After a comma: the list or object may not end. */
  private needsMore = false
  private end: ListEnd | null = null
  private inObject = false
  private depth = 0
  private inText = false
  private escaped = false
  private held: Buffer[] = []
  private heldBytes = 0
  private key = ''
  private wanted = false
  private found = false
  private present = false
  private elements = 0
  private readonly lists: string[] = []

  /** `field`: of the object at the root; a list at the root takes none. */
  constructor(
    private readonly field: string,
    private readonly take: (bytes: Buffer) => void,
  ) {}

  /** Whether the root is a list. */
  get isPlainList(): boolean {
    return this.state !== 'start' && !this.inObject
  }

  /** Returns false when nothing more is wanted. */
  push(piece: Buffer): boolean {
    let from = 0
    for (let at = 0; at < piece.length && this.end === null;) {
      const byte = piece[at]
      switch (this.state) {
        case 'element':
        case 'skip':
        case 'key': {
          const stop = this.endOfPart(piece, at)
          if (stop < 0) {
            this.hold(piece.subarray(from))
            return this.end === null
          }
          this.hold(piece.subarray(from, stop))
          at = stop
          this.partEnded()
          continue
        }
        default:
          if (isSpace(byte)) {
            at++
            continue
          }
          if (this.between(byte)) from = at
          else at++
      }
    }
    return this.end === null
  }

  finish(): ListEnd {
    if (this.end !== null) return this.end
    if (this.state === 'after-root') {
      if (!this.inObject || this.found) return { kind: 'list' }
      return { kind: 'no-list', present: this.present, lists: this.lists }
    }
    if (this.state === 'start') return { kind: 'wrong', why: 'it holds white space only' }
    const inside = this.state === 'element' ? `inside row ${this.elements + 1}` : `after ${this.elements} rows`
    return {
      kind: 'wrong',
      why: `it ends ${inside}: ${this.inText ? 'the closing quote of a text' : 'a closing bracket'} is missing`,
    }
  }

  /** A byte between the parts; true when it starts one, which is then read from it on. */
  private between(byte: number): boolean {
    switch (this.state) {
      case 'start':
        if (byte === 91) this.state = 'element-or-end'
        else if (byte === 123) {
          this.inObject = true
          this.state = 'key-or-end'
        } else this.fail('it is neither a list nor an object with a list')
        return false
      case 'key-or-end':
        if (byte === 125 && !this.needsMore) this.state = 'after-root'
        else if (byte === 34) return this.start('key')
        else this.fail('a field name in quotes is missing')
        return false
      case 'colon':
        if (byte === 58) this.state = 'value'
        else this.fail(`a colon is missing after the field "${this.key}"`)
        return false
      case 'value':
        this.wanted = this.key === this.field
        if (this.wanted) this.present = true
        if (byte === 91) {
          this.lists.push(this.key)
          if (this.wanted) {
            this.found = true
            this.needsMore = false
            this.state = 'element-or-end'
            return false
          }
        }
        return this.start('skip')
      case 'after-value':
        if (byte === 44) {
          this.needsMore = true
          this.state = 'key-or-end'
        } else if (byte === 125) this.state = 'after-root'
        else this.fail(`a comma is missing after the field "${this.key}"`)
        return false
      case 'element-or-end':
        if (byte === 93 && !this.needsMore) this.listEnded()
        else if (byte === 93 || byte === 44) this.fail(`after row ${this.elements} stands a comma too many`)
        else if (byte === 125) this.fail(`after row ${this.elements} stands a bracket too many`)
        else return this.start('element')
        return false
      case 'after-element':
        if (byte === 44) {
          this.needsMore = true
          this.state = 'element-or-end'
        } else if (byte === 93) this.listEnded()
        else this.fail(`a comma is missing after row ${this.elements}`)
        return false
      default:
        if (byte === 123 && this.inObject) this.end = { kind: 'several-values' }
        else this.fail('something follows after its end')
        return false
    }
  }

  private start(state: 'key' | 'skip' | 'element'): true {
    this.state = state
    this.depth = 0
    this.inText = false
    this.escaped = false
    this.held = []
    this.heldBytes = 0
    return true
  }

  /** The place after the part that is being read, or -1 where the piece ends before it. */
  private endOfPart(piece: Buffer, start: number): number {
    let { depth, inText, escaped } = this
    const save = (): void => {
      this.depth = depth
      this.inText = inText
      this.escaped = escaped
    }
    for (let at = start; at < piece.length; at++) {
      const byte = piece[at]
      if (inText) {
        if (escaped) escaped = false
        else if (byte === 92) escaped = true
        else if (byte === 34) {
          inText = false
          if (depth === 0) {
            save()
            return at + 1
          }
        }
        continue
      }
      if (byte === 34) {
        inText = true
        continue
      }
      if (byte === 123 || byte === 91) depth++
      else if (byte === 125 || byte === 93) {
        if (depth === 0) return at
        if (--depth === 0) {
          save()
          return at + 1
        }
      } else if (depth === 0 && (byte === 44 || isSpace(byte))) return at
    }
    save()
    return -1
  }

  private hold(bytes: Buffer): void {
    this.heldBytes += bytes.length
    if (this.state === 'skip') return
    if (this.state === 'key' && this.heldBytes > longestKey) this.fail('a closing quote is missing in a field name')
    if (this.heldBytes > longestElement)
      this.fail(`row ${this.elements + 1} is longer than a text can be; a closing quote or bracket may be missing`)
    this.held.push(bytes)
  }

  private partEnded(): void {
    switch (this.state) {
      case 'key':
        try {
          this.key = JSON.parse(Buffer.concat(this.held).toString()) as string
        } catch {
          this.fail('a field name is no JSON text')
        }
        this.state = 'colon'
        return
      case 'skip':
        this.state = 'after-value'
        return
      default:
        this.elements++
        this.needsMore = false
        this.state = 'after-element'
        this.take(this.held.length === 1 ? this.held[0] : Buffer.concat(this.held))
        this.held = []
    }
  }

  private listEnded(): void {
    this.state = this.inObject ? 'after-value' : 'after-root'
  }

  private fail(why: string): void {
    this.end ??= { kind: 'wrong', why }
  }
}
