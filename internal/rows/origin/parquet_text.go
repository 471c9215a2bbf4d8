package origin

import (
	"encoding/hex"
	"math"
	"math/big"
	"strconv"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// ParquetText returns how values of a column are written as text; nil if they are not.
func ParquetText(c *parquet.Column) func([]byte, parquet.Value) []byte {
	if !c.Leaf() || c.Repeated() {
		return nil
	}
	switch logical := Logical(c).(type) {
	case *format.DecimalType:
		return decimals(int(logical.Scale), c.Type().Kind())
	case *format.DateType:
		return func(b []byte, v parquet.Value) []byte {
			return time.Unix(int64(v.Int32())*24*60*60, 0).UTC().AppendFormat(b, time.DateOnly)
		}
	case *format.TimestampType:
		return timestamps(logical)
	case *format.UUIDType:
		return func(b []byte, v parquet.Value) []byte {
			h := hex.EncodeToString(v.ByteArray())
			if len(h) != 32 {
				return append(b, h...)
			}
			return append(b, h[:8]+"-"+h[8:12]+"-"+h[12:16]+"-"+h[16:20]+"-"+h[20:]...)
		}
	case *format.IntType:
		if !logical.IsSigned && c.Type().Kind() == parquet.Int64 {
			return func(b []byte, v parquet.Value) []byte { return strconv.AppendUint(b, v.Uint64(), 10) }
		}
		if !logical.IsSigned {
			return func(b []byte, v parquet.Value) []byte { return strconv.AppendUint(b, uint64(v.Uint32()), 10) }
		}
	}
	return plainWriter(c.Type().Kind())
}

// Logical returns what a column says that its values mean, or nil.
func Logical(c *parquet.Column) any {
	if l := c.Type().LogicalType(); l != nil {
		return l.Value
	}
	return nil
}

func plainWriter(kind parquet.Kind) func([]byte, parquet.Value) []byte {
	switch kind {
	case parquet.Boolean:
		return func(b []byte, v parquet.Value) []byte { return strconv.AppendBool(b, v.Boolean()) }
	case parquet.Int32:
		return func(b []byte, v parquet.Value) []byte { return strconv.AppendInt(b, int64(v.Int32()), 10) }
	case parquet.Int64:
		return func(b []byte, v parquet.Value) []byte { return strconv.AppendInt(b, v.Int64(), 10) }
	case parquet.Float:
		return func(b []byte, v parquet.Value) []byte {
			return strconv.AppendFloat(b, float64(v.Float()), 'g', -1, 32)
		}
	case parquet.Double:
		return func(b []byte, v parquet.Value) []byte { return strconv.AppendFloat(b, v.Double(), 'g', -1, 64) }
	case parquet.ByteArray, parquet.FixedLenByteArray:
		return func(b []byte, v parquet.Value) []byte { return append(b, v.ByteArray()...) }
	}
	return nil
}

// decimals writes whole numbers of powers of ten.
func decimals(scale int, kind parquet.Kind) func([]byte, parquet.Value) []byte {
	exponent := func(b []byte) []byte { return strconv.AppendInt(append(b, "e-"...), int64(scale), 10) }
	switch kind {
	case parquet.Int32:
		return func(b []byte, v parquet.Value) []byte {
			return exponent(strconv.AppendInt(b, int64(v.Int32()), 10))
		}
	case parquet.Int64:
		return func(b []byte, v parquet.Value) []byte { return exponent(strconv.AppendInt(b, v.Int64(), 10)) }
	}
	return func(b []byte, v parquet.Value) []byte {
		raw := v.ByteArray()
		if len(raw) > 32 {
			return b
		}
		x := new(big.Int).SetBytes(raw)
		if len(raw) > 0 && raw[0]&0x80 != 0 { // two's complement
			x.Sub(x, new(big.Int).Lsh(big.NewInt(1), uint(8*len(raw))))
		}
		return exponent(x.Append(b, 10))
	}
}

// timestamps writes times as databases do.
func timestamps(t *format.TimestampType) func([]byte, parquet.Value) []byte {
	unit := int64(1)
	switch t.Unit.Value.(type) {
	case *format.MilliSeconds:
		unit = int64(time.Millisecond)
	case *format.MicroSeconds:
		unit = int64(time.Microsecond)
	}
	return func(b []byte, v parquet.Value) []byte {
		x := v.Int64()
		if unit > 1 && (x > math.MaxInt64/unit || x < math.MinInt64/unit) {
			return strconv.AppendInt(b, x, 10)
		}
		return time.Unix(0, x*unit).UTC().AppendFormat(b, "2006-01-02T15:04:05.999999999")
	}
}
