import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.zip.CRC32;

/** Parts whose time goes into code that compilers put in place of methods, for known times. */
public class Intrinsics {
    static final Told.Parts byPart = new Told.Parts();
    static final String[] NAMES = {"comparing", "copying", "multiplying", "hashing", "encoding"};

    static final String[] WORDS = new String[200];
    static final byte[] FROM = new byte[3_000], TO = new byte[3_000];
    static final BigInteger NUMBER = BigInteger.ONE.shiftLeft(2_000).subtract(BigInteger.TEN);
    static MessageDigest digest;

    static void comparing(int n) {
        long sum = 0;
        for (int i = 0; i < n; i++) {
            sum += WORDS[i % 200].compareTo(WORDS[i * 7 % 200]);
        }
        Told.sink += sum;
    }

    static void copying(int n) {
        for (int i = 0; i < n / 10; i++) {
            System.arraycopy(FROM, i % 7, TO, i % 11, 2_900 - i % 100);
        }
        Told.sink += TO[n % 3_000];
    }

    static void multiplying(int n) {
        BigInteger x = NUMBER;
        for (int i = 0; i < n / 200; i++) {
            x = NUMBER.multiply(NUMBER).add(x.shiftRight(2_000));
        }
        Told.sink += x.bitLength();
    }

    static void hashing(int n) {
        CRC32 crc = new CRC32();
        for (int i = 0; i < n / 200; i++) {
            crc.update(FROM, 0, FROM.length);
            digest.update(FROM, 0, 200);
        }
        Told.sink += crc.getValue() + digest.digest()[0];
    }

    static void encoding(int n) {
        long sum = 0;
        for (int i = 0; i < n / 40; i++) {
            String word = WORDS[i % 200];
            sum += word.getBytes(StandardCharsets.UTF_8).length + word.indexOf("777") + word.hashCode();
        }
        Told.sink += sum;
    }

    static void turn(int which, int n) {
        long start = Told.clock();
        switch (which) {
            case 0: comparing(n); break;
            case 1: copying(n); break;
            case 2: multiplying(n); break;
            case 3: hashing(n); break;
            default: encoding(n); break;
        }
        byPart.add(NAMES[which], Told.clock() - start);
    }

    public static void main(String[] arguments) throws Exception {
        digest = MessageDigest.getInstance("SHA-256");
        for (int i = 0; i < WORDS.length; i++) {
            WORDS[i] = "a longer beginning that all have " + i * 7919 % 10_007;
        }
        long end = Told.clock() + (long) (Double.parseDouble(arguments[0]) * 1e9);
        while (Told.clock() < end) {
            for (int which = 0; which < NAMES.length; which++) {
                turn(which, Told.vary(60_000));
            }
        }
        System.out.println("{\"by_part\": " + byPart + "}");
    }
}
