/** The DuckDB file of an open data set, and who works in it: none of them is left with a database that is gone. */
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { totalmem } from 'node:os'
import { join } from 'node:path'
import type { DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import { UserError } from '../engine/errors'
import { processExists } from '../system/process-exists'

/** A connection for long work: other questions come in between, and interrupting it stops nothing else. */
export interface OwnConnection {
  readonly connection: DuckDBConnection
  /** Ends it; until then the database stays. */
  release(): void
}

export class Database {
  private readonly own = new Set<DuckDBConnection>()
  private users = 0
  private closing: Promise<void> | undefined
  private unused: () => void = () => undefined

  constructor(
    private readonly instance: DuckDBInstance,
    /** For whoever fills the table; later questions go through `ask`. */
    readonly connection: DuckDBConnection,
    private readonly folder: string,
  ) {}

  /** A short question. Throws UserError where the data set is closed before it is answered. */
  async ask<T>(question: (connection: DuckDBConnection) => Promise<T>): Promise<T> {
    const leave = this.enter()
    try {
      return await question(this.connection)
    } catch (error) {
      throw this.explain(error)
    } finally {
      leave()
    }
  }

  /** Throws UserError where the data set is closed. Whoever works on it calls `stayOpen` now and then. */
  async connect(): Promise<OwnConnection> {
    const leave = this.enter()
    try {
      const connection = await this.instance.connect()
      this.own.add(connection)
      const release = (): void => {
        this.own.delete(connection)
        connection.closeSync()
        leave()
      }
      return { connection, release }
    } catch (error) {
      leave()
      throw error
    }
  }

  /** Throws UserError where the data set is being closed. */
  stayOpen(): void {
    if (this.closing) throw closed()
  }

  /** A question that closing has interrupted failed for that reason. */
  explain(error: unknown): unknown {
    return this.closing ? closed() : error
  }

  /**
   * Interrupts whoever works in it, and frees it when the last has ended: DuckDB brings the process down where a connection is closed
   * under a question.
   */
  close(): Promise<void> {
    return (this.closing ??= this.shut())
  }

  private async shut(): Promise<void> {
    if (this.users > 0) {
      const unused = new Promise<void>((resolve) => (this.unused = resolve))
      for (const connection of [this.connection, ...this.own]) connection.interrupt()
      await unused
    }
    this.connection.closeSync()
    this.instance.closeSync()
    await rm(this.folder, { recursive: true, force: true })
  }

  private enter(): () => void {
    this.stayOpen()
    this.users++
    return () => {
      if (--this.users === 0) this.unused()
    }
  }
}

function closed(): UserError {
  return new UserError({
    what: 'The data set is not open any more.',
    why: 'It was closed while it was being read.',
    next: 'Open it again.',
  })
}

/** A database file in a new folder under `cache`, gone when closed. */
export async function openDatabase(cache: string): Promise<Database> {
  // a large native library, which most starts of the app and of the command line do without
  const { DuckDBInstance } = await import('@duckdb/node-api')
  await mkdir(cache, { recursive: true })
  await removeLeftovers(cache)
  const folder = await mkdtemp(join(cache, `table-${process.pid}-`))
  try {
    const memory = Math.max(512, Math.min(8192, Math.floor(totalmem() / 4 / 2 ** 20)))
    const instance = await DuckDBInstance.create(join(folder, 'rows.db'), {
      memory_limit: `${memory}MiB`,
      temp_directory: join(folder, 'spill'),
      autoinstall_known_extensions: 'false',
      autoload_known_extensions: 'false',
    })
    const connection = await instance.connect()
    // text of a hundred characters takes little more space so, and is read several times faster
    await connection.run("PRAGMA force_compression='uncompressed'")
    // times of a parquet file read the same on every machine
    await connection.run("SET TimeZone = 'UTC'")
    return new Database(instance, connection, folder)
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw error
  }
}

/** Takes away the tables of processes that ended without closing them. */
async function removeLeftovers(cache: string): Promise<void> {
  for (const name of await readdir(cache)) {
    const owner = /^table-(\d+)-/.exec(name)
    if (owner && !processExists(Number(owner[1]))) await rm(join(cache, name), { recursive: true, force: true })
  }
}
