/** A job in a process of its own, for the peak that it comes to. */
import { runMemoryChild } from '../../bench/memory'

process.exitCode = await runMemoryChild(process.argv[3])
