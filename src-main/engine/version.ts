/** The program's version, as every checkpoint and result carries it. */
import { version } from '../../package.json'

export const appVersion: string = version
